// `muster review`: the rules of the webhooks, without a cluster. The same mutators and
// validators run over files; Namespaces, LocalQueues and owners among them serve as
// the cluster that the rules see.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "api/admission_review.h"

namespace muster {

enum class ReviewFormat {
  kYaml,   // the resulting objects
  kJson,   // the same, one compact object per line
  kPatch,  // {"object": "Job/train", "patch": [...]}, one per line
};

struct ReviewOptions {
  std::vector<std::string> files{};
  ReviewFormat format = ReviewFormat::kYaml;
  Operation operation = Operation::kCreate;
  std::string old_file{};     // the stored objects, for UPDATE
  std::string config_file{};  // as for `muster serve`
  std::string user{};         // who asks; matters to the suspend guard
};

struct ReviewStreams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Exit codes, part of the interface that scripts rely on.
inline constexpr int kReviewAllowed = 0;
inline constexpr int kReviewRejected = 1;
inline constexpr int kReviewUnusable = 2;

// Prints what is allowed on `out`, in the order of the input, and each rejection on
// `err` as "Kind/name: field: reason: sentence". Returns one of the codes above.
int review(const ReviewOptions& options, ReviewStreams streams);

}  // namespace muster
