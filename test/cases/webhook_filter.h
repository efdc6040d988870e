// Which requests the API server sends to muster's webhooks: the entries themselves, applied as the API server does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/review/admission_review.h"

namespace muster::test {

struct SentBy {
  std::vector<std::string> entries;  // the names of those that send it
  std::vector<std::string> errors;   // conditions that cannot be evaluated: the API server refuses the request then
};

// `entries` as of webhook_entries(). `namespace_labels`: of the request's namespace, without its name.
SentBy entries_that_send(const nlohmann::json& entries, const AdmissionRequest& request,
                         const std::map<std::string, std::string>& namespace_labels);

}  // namespace muster::test
