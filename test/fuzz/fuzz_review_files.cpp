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

Ran run(std::string_view text, commands::ReviewFormat format, Operation operation) {
  commands::ReviewOptions options;
  options.sources.files = {"-"};
  options.format = format;
  options.operation = operation;
  std::istringstream in{std::string(text)};
  std::ostringstream out, err;
  const int code = commands::review(options, {in, out, err});
  return {code, out.str(), err.str()};
}

void check_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) REQUIRE_THAT(parse_json(line).ok());
}

void check(std::string_view text) {
  const Ran yaml = run(text, commands::ReviewFormat::kYaml, Operation::kCreate);
  REQUIRE_THAT(yaml.code == commands::kReviewAllowed || yaml.code == commands::kReviewRejected ||
               yaml.code == commands::kReviewUnusable);
  REQUIRE_THAT(!yaml.err.empty());
  if (yaml.code == commands::kReviewUnusable) {
    REQUIRE_THAT(yaml.out.empty());
    return;
  }
  for (const commands::ReviewFormat format :
       {commands::ReviewFormat::kJson, commands::ReviewFormat::kPatch, commands::ReviewFormat::kTable,
        commands::ReviewFormat::kJunit, commands::ReviewFormat::kSarif}) {
    const Ran other = run(text, format, Operation::kCreate);
    REQUIRE_THAT(other.code == yaml.code);
    if (format == commands::ReviewFormat::kJson || format == commands::ReviewFormat::kPatch) check_lines(other.out);
    if (format != commands::ReviewFormat::kSarif) continue;
    const auto log = parse_json(other.out);
    REQUIRE_THAT(log.ok());
    REQUIRE_THAT(test::SarifCheck::problems(*log).empty());
  }
  // What was rejected is not printed; an AdmissionReview is printed with its answer, and answered again.
  if (yaml.code == commands::kReviewAllowed && !yaml.out.empty()) {
    const Ran again = run(yaml.out, commands::ReviewFormat::kYaml, Operation::kCreate);
    REQUIRE_THAT(again.code == commands::kReviewAllowed);
    REQUIRE_THAT(again.out == yaml.out);
  }
  REQUIRE_THAT(run(text, commands::ReviewFormat::kTable, Operation::kDelete).code != commands::kReviewUnusable);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
