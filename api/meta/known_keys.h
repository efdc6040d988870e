// The keys of labels and annotations that Kueue, JobSet and muster know, also those that muster does not read, and the
// key that a user meant who wrote another one. A misspelt key has no effect, and the API server accepts it: a Job with
// kueue.x-k8s.io/queue-nam runs at once and without quota. Pure; any thread.
#pragma once

#include <span>
#include <string_view>

namespace muster {

// In no order. Each is there once.
std::span<const std::string_view> known_keys();

// Whether `key` is not known, but of a domain that is, or of one that differs from it by one or two letters. False for
// keys without a domain and for those that are longer than all known ones. Costs some 100 ns.
bool can_be_misspelt(std::string_view key);

// The known key that differs from `key` by one or two letters (added, missing, wrong, or two neighbours swapped), in
// the domain and in the name together; of a name with less than 6 letters, by one. Empty: no key is near, or `key` is
// none that can_be_misspelt(). Costs at most some 10 µs.
std::string_view nearest_known_key(std::string_view key);

}  // namespace muster
