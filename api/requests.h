// Amounts of resources as quota counts them: cpu in thousandths, everything else in
// whole units, both rounded up; sums stop at the ends of int64 instead of wrapping.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/meta/quantity.h"
#include "api/pod_spec.h"

namespace muster {

using Requests = std::map<std::string, int64_t, std::less<>>;

// One amount, and back, in the format that the resource is printed in.
int64_t to_amount(std::string_view resource, const Quantity& quantity);
Quantity to_quantity(std::string_view resource, int64_t amount);

Requests to_requests(const ResourceList& list);

int64_t saturating_add(int64_t a, int64_t b);
int64_t saturating_subtract(int64_t a, int64_t b);
int64_t saturating_multiply(int64_t a, int64_t b);
void add(Requests& sum, const Requests& more);
Requests multiply(const Requests& requests, int64_t factor);

}  // namespace muster
