// Kubernetes' naming rules (apimachinery pkg/api/validate/content and
// pkg/util/validation). Each returns every complaint in Kubernetes' own words,
// because users' tools and our recorded vectors know them; empty means valid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"

namespace muster {

// "example.com": at most 253 characters; names of most objects.
std::vector<std::string> is_dns1123_subdomain(std::string_view value);
// "my-name": at most 63 characters; namespaces, containers.
std::vector<std::string> is_dns1123_label(std::string_view value);
// As a DNS-1123 label, but starting with a letter; Services, JobSets.
std::vector<std::string> is_dns1035_label(std::string_view value);
// A label or annotation key: optional DNS prefix and '/', then a name up to 63 bytes.
std::vector<std::string> is_qualified_name(std::string_view value);
std::vector<std::string> is_valid_label_value(std::string_view value);

// "acme.io/foo". Complains about the part that is wrong, so it makes whole field errors.
FieldErrors is_domain_prefixed_path(const std::string& field, std::string_view value);

// "a, b" of complaints with a separator: Kubernetes uses ";", "; " or "," depending on the place.
std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace muster
