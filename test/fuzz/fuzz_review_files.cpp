// The files of `muster review`: whatever the bytes, in every format the answer is one of the three exit
// codes, unusable input prints nothing but a sentence, what is printed as JSON is JSON, a SARIF log is what
// its specification says, and what is printed as YAML is not changed by another review.
#include <sstream>
#include <string>

#include "api/codec/json.h"
#include "commands/review/review.h"
#include "test/fuzz/require.h"
#include "test/support/sarif.h"

namespace muster {
namespace {

struct Ran {
  int code;
  std::string out, err;
};

Ran run(std::string_view text, ReviewFormat format, Operation operation) {
  ReviewOptions options;
  options.sources.files = {"-"};
  options.format = format;
  options.operation = operation;
  std::istringstream in{std::string(text)};
  std::ostringstream out, err;
  const int code = review(options, {in, out, err});
  return {code, out.str(), err.str()};
}

void check_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) REQUIRE_THAT(parse_json(line).ok());
}

void check(std::string_view text) {
  const Ran yaml = run(text, ReviewFormat::kYaml, Operation::kCreate);
  REQUIRE_THAT(yaml.code == kReviewAllowed || yaml.code == kReviewRejected || yaml.code == kReviewUnusable);
  REQUIRE_THAT(!yaml.err.empty());
  if (yaml.code == kReviewUnusable) {
    REQUIRE_THAT(yaml.out.empty());
    return;
  }
  for (const ReviewFormat format :
       {ReviewFormat::kJson, ReviewFormat::kPatch, ReviewFormat::kTable, ReviewFormat::kJunit, ReviewFormat::kSarif}) {
    const Ran other = run(text, format, Operation::kCreate);
    REQUIRE_THAT(other.code == yaml.code);
    if (format == ReviewFormat::kJson || format == ReviewFormat::kPatch) check_lines(other.out);
    if (format != ReviewFormat::kSarif) continue;
    const auto log = parse_json(other.out);
    REQUIRE_THAT(log.ok());
    REQUIRE_THAT(test::SarifCheck::problems(*log).empty());
  }
  // What was rejected is not printed; an AdmissionReview is printed with its answer, and answered again.
  if (yaml.code == kReviewAllowed && !yaml.out.empty()) {
    const Ran again = run(yaml.out, ReviewFormat::kYaml, Operation::kCreate);
    REQUIRE_THAT(again.code == kReviewAllowed);
    REQUIRE_THAT(again.out == yaml.out);
  }
  REQUIRE_THAT(run(text, ReviewFormat::kTable, Operation::kDelete).code != kReviewUnusable);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
