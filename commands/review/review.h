// `muster review`: what the API server and muster's webhooks would say of files, without a cluster. Schemas,
// mutators and validators run over them; Namespaces, queues and owners among the files serve as the cluster
// that the rules see.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "api/review/admission_review.h"
#include "commands/review/review_files.h"
#include "commands/review/review_print.h"

namespace muster::commands {

struct ReviewOptions {
  SourceNames sources{};
  ReviewFormat format = ReviewFormat::kYaml;
  Operation operation = Operation::kCreate;
  std::string old_file{};     // the stored objects, for UPDATE: a file or folder
  std::string config_file{};  // as for `muster serve`
  std::string kinds_file{};   // JobKinds: what muster sees in each job is printed instead of objects
  std::string user{};         // who asks; matters to the suspend guard
  bool strict = false;        // a warning counts as a rejection for the exit code
  bool verbose = false;       // kTable: objects without a finding as well
};

struct ReviewStreams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Exit codes, part of the interface that scripts rely on.
inline constexpr int kReviewAllowed = 0;  // every object is allowed, with warnings or without
// At least one object is rejected, or a file or a document cannot be read as one; with `strict`, also a warning.
inline constexpr int kReviewRejected = 1;
// The options cannot be used, a file cannot be opened, or there is no object at all; nothing is printed on `out`.
inline constexpr int kReviewUnusable = 2;

// Prints the outcome in the order of the input (review_print.h). Returns one of the codes above. Never aborts,
// whatever the files hold.
int review(const ReviewOptions& options, ReviewStreams streams);

}  // namespace muster::commands
