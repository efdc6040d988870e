#include "explain/lists/workload_filter.h"

#include <algorithm>

#include "api/meta/names.h"
#include "api/meta/selector_text.h"
#include "api/meta/submitter.h"
#include "base/did_you_mean.h"
#include "explain/lists/workload_state.h"

namespace muster::explain {
namespace {

// A name has at most 253 bytes.
constexpr size_t kLongestSearch = 253;

const std::vector<std::string>& state_names() {
  static const std::vector<std::string> kNames(kWorkloadStates.begin(), kWorkloadStates.end());
  return kNames;
}

Result<std::string> read_state(std::string_view text) {
  for (const std::string& name : state_names()) {
    if (in_lower_case(name) == in_lower_case(text)) return name;
  }
  return fail("state: there is no state \"" + std::string(text.substr(0, 100)) + "\"; there are " +
              join(state_names(), ", ") + did_you_mean(text, state_names()));
}

Outcome<> read_states(std::string_view text, WorkloadFilter& filter) {
  while (true) {
    const size_t comma = text.find(',');
    auto state = read_state(text.substr(0, comma));
    if (!state) return fail(state.error().message);
    filter.states.insert(std::move(*state));
    if (comma == std::string_view::npos) return Done{};
    text.remove_prefix(comma + 1);
  }
}

Outcome<> read_order(std::string_view text, WorkloadFilter& filter) {
  static const std::map<std::string_view, WorkloadOrder> kOrders = {{"queue", WorkloadOrder::kQueue},
                                                                    {"created", WorkloadOrder::kCreated},
                                                                    {"name", WorkloadOrder::kName},
                                                                    {"priority", WorkloadOrder::kPriority}};
  static const std::vector<std::string> kNames = {"queue", "created", "name", "priority"};
  filter.descending = text.starts_with('-');
  if (filter.descending) text.remove_prefix(1);
  const auto found = kOrders.find(text);
  if (found == kOrders.end())
    return fail("sortBy: there is no order \"" + std::string(text.substr(0, 100)) + "\"; there are " +
                join(kNames, ", ") + ", with a minus before it the other way round" + did_you_mean(text, kNames));
  filter.order = found->second;
  return Done{};
}

}  // namespace

bool is_filter_parameter(std::string_view name) {
  return std::find(kFilterParameters.begin(), kFilterParameters.end(), name) != kFilterParameters.end();
}

Result<WorkloadFilter> read_workload_filter(const FilterValues& values) {
  WorkloadFilter filter;
  const auto value = [&](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
  if (const std::string states = value("state"); !states.empty()) {
    if (auto read = read_states(states, filter); !read) return fail(read.error().message);
  }
  if (const std::string order = value("sortBy"); !order.empty()) {
    if (auto read = read_order(order, filter); !read) return fail(read.error().message);
  }
  auto labels = parse_selector_text(value("labelSelector"));
  if (!labels) return fail("labelSelector: " + labels.error().message);
  filter.labels = std::move(*labels);
  filter.search = in_lower_case(value("search"));
  if (filter.search.size() > kLongestSearch)
    return fail("search: a text to search for has at most " + std::to_string(kLongestSearch) + " characters");
  filter.submitter = value("submitter");
  if (!filter.submitter.empty() && !is_recorded_name(filter.submitter))
    return fail("submitter: muster records no name with control characters or of more than " +
                std::to_string(kLongestSubmitter) + " bytes");
  const std::string finished = value("finished");
  if (!finished.empty() && finished != "true" && finished != "false") return fail("finished: must be true or false");
  filter.finished = finished == "true" || filter.states.contains("Finished") || filter.states.contains("Failed");
  return filter;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return lower;
}

}  // namespace muster::explain
