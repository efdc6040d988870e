// The outcome of `muster review` in the format that was asked for. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "commands/review/review_finding.h"

namespace muster::commands {

enum class ReviewFormat {
  kYaml,   // the resulting objects; findings on the error stream
  kJson,   // the same, one compact object per line
  kPatch,  // {"object": "Job/train", "patch": [...]}, one per line
  kTable,  // one line per finding
  kJunit,  // XML, one test case per object
  kSarif,  // SARIF 2.1.0, one result per finding
};
Result<ReviewFormat> parse_review_format(std::string_view text);
const std::vector<std::string>& review_format_names();

struct ReviewOutput {
  std::string out, err;
};

// In the order of `objects`; a table begins with the rejected ones, and with `verbose` has a line for each object
// without a finding at its end. The last lines count the objects and say what no check without a cluster can tell.
ReviewOutput print_review(ReviewFormat format, const std::vector<ReviewedObject>& objects, bool verbose = false);

// What only a cluster knows; printed in every format.
inline constexpr std::string_view kNeedsCluster =
    "Not checked without a cluster: names that are in use already; queues, flavors, classes and owners that are not in "
    "the input; free quota; permissions; other admission webhooks and policies.";

}  // namespace muster::commands
