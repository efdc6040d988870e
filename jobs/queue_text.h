// Parts of Workloads and queues as the typed API prints them (jobs/typed_text.h), for
// error messages that show the whole of what must not change.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace muster::jobs {

// One pod set, or a list of them; "null" for none.
std::string print_pod_sets(const nlohmann::json& pod_sets);
std::string print_admission(const nlohmann::json& admission);
std::string print_pod_set_updates(const nlohmann::json& updates);
std::string print_preemption(const nlohmann::json& preemption);
std::string print_concurrent_admission(const nlohmann::json& policy);
std::string print_taint(const nlohmann::json& taint);

}  // namespace muster::jobs
