// The subdomain is the name of the JobSet's headless Service and part of the pods' DNS
// names, so it must be fit for both. Rejected, for example:
//
//   network: {subdomain: 1net}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_subdomain {
namespace {

FieldErrors check(const Review& review) {
  const std::string_view subdomain = string_at(review.request.object, {"spec", "network", "subdomain"});
  if (subdomain.empty()) return {};
  FieldErrors errors;
  for (const std::string& complaint : is_dns1123_subdomain(subdomain)) {
    errors.push_back(invalid("spec.network.subdomain", subdomain, complaint));
  }
  for (const std::string& complaint :
       jobs::dns_label_complaints(subdomain, ".spec.network.subdomain is too long, must be less than 63 characters")) {
    errors.push_back(invalid("spec.network.subdomain", subdomain, complaint));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_subdomain",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_subdomain
