// v1beta1 lists each domain with all its values and a count. v1beta2 has slices of domains, and writes the
// common parts of the domains of a slice once: a value or count that all share (universal), or the prefix and
// suffix of their values (individual).
//
// Any slicing is valid; this one makes a single slice, as Kueue does.
#include <algorithm>
#include <vector>

#include "api/codec/json.h"
#include "api/codec/tree_memory.h"
#include "api/conversion/conversion_fields.h"

namespace muster::conversion {
namespace {

using nlohmann::json;

// As many as the schema of v1beta2 allows in all slices together.
constexpr int64_t kMostDomains = 100'000;

std::string item(std::string_view list, size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}
size_t common_suffix(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin());
}

// Where prefix and suffix would overlap in the shortest value, the suffix wins.
json encode_values(const std::vector<std::string_view>& values) {
  const std::string_view first = values.front();
  size_t prefix = first.size(), suffix = first.size(), shortest = first.size(), longest = first.size();
  for (std::string_view value : values) {
    prefix = std::min(prefix, common_prefix(first, value));
    suffix = std::min(suffix, common_suffix(first, value));
    shortest = std::min(shortest, value.size());
    longest = std::max(longest, value.size());
  }
  if (prefix == longest) return json::object({{"universal", first}});
  if (prefix + suffix > shortest) prefix = shortest - suffix;
  json individual = json::object();
  if (prefix > 0) individual["prefix"] = first.substr(0, prefix);
  if (suffix > 0) individual["suffix"] = first.substr(first.size() - suffix);
  json& roots = individual["roots"] = json::array();
  for (std::string_view value : values) roots.push_back(value.substr(prefix, value.size() - prefix - suffix));
  return json::object({{"individual", std::move(individual)}});
}

json encode_counts(const json& domains) {
  json counts = json::array();
  for (const json& domain : domains) counts.push_back(int32_at(domain, {"count"}));
  const bool same = std::all_of(counts.begin(), counts.end(), [&](const json& count) { return count == counts[0]; });
  if (same) return json::object({{"universal", counts[0]}});
  return json::object({{"individual", std::move(counts)}});
}

Outcome<> to_slices(Fields& assignment) {
  const json domains = take(assignment, "domains");
  drop(assignment, {"slices"});
  if (!domains.is_array() || domains.empty()) return Done{};
  const size_t levels = assignment["levels"].size();
  std::vector<std::vector<std::string_view>> values(levels);
  for (size_t i = 0; i < domains.size(); ++i) {
    const json& own = array_at(domains[i], {"values"});
    if (own.size() < levels) {
      return fail(item("domains", i) + ".values has " + std::to_string(own.size()) + " entries, but there are " +
                  std::to_string(levels) + " levels; give one value for each level");
    }
    for (size_t level = 0; level < levels; ++level) {
      const auto* text = own[level].get_ptr<const std::string*>();
      if (text == nullptr) return fail(item("domains", i) + "." + item("values", level) + " must be a string");
      values[level].push_back(*text);
    }
  }
  json per_level = json::array();
  for (const auto& of_level : values) per_level.push_back(encode_values(of_level));
  json slice = {{"domainCount", domains.size()}, {"podCounts", encode_counts(domains)}};
  slice["valuesPerLevel"] = std::move(per_level);
  assignment["slices"] = json::array({std::move(slice)});
  return Done{};
}

// The values of one level of a slice, or its pod counts: one for all, or a list.
Outcome<> check_length(const json& list, size_t domains, const std::string& path) {
  if (list.size() >= domains) return Done{};
  return fail(path + " has " + std::to_string(list.size()) + " entries for " + std::to_string(domains) +
              " domains (domainCount); give one for each, or a universal value");
}

// The value that all domains share; nullptr if they share none.
const json* universal_of(const json& fields, std::initializer_list<std::string_view> path) {
  const json* universal = find_path(fields, path);
  return universal && !universal->is_null() ? universal : nullptr;
}

// A slice that was found to be whole.
struct Slice {
  const json& fields;
  size_t domains, levels;
};

// The size of the values of a level as text, with quotes and escapes, if they are all written out.
Result<size_t> text_of_level(const json& level, size_t domains, const std::string& path) {
  const auto quoted = [](const json& value) { return to_text(value).size(); };
  if (const json* universal = universal_of(level, {"universal"})) {
    if (!universal->is_string()) return fail(path + ".universal must be a string");
    return domains * quoted(*universal);
  }
  const json& roots = array_at(level, {"individual", "roots"});
  if (auto fits = check_length(roots, domains, path + ".individual.roots"); !fits) return fail(fits.error().message);
  size_t bytes = domains * (quoted(json(string_at(level, {"individual", "prefix"}))) +
                            quoted(json(string_at(level, {"individual", "suffix"}))));
  for (size_t i = 0; i < domains; ++i) {
    if (!roots[i].is_string()) return fail(path + "." + item("individual.roots", i) + " must be a string");
    bytes += quoted(roots[i]);
  }
  return bytes;
}

// Checks the slice and reserves the memory of its domains in the budget before it creates a domain.
Outcome<> take_room(const Slice& slice, const std::string& path, ConversionBudget& budget) {
  constexpr size_t kTextOfDomain = sizeof(R"({"count":2147483647,"values":[]},)");
  constexpr size_t kTreeOfDomain = kItemBytes + kObjectBytes + 2 * kMemberBytes + kArrayBytes;
  if (const json* universal = universal_of(slice.fields, {"podCounts", "universal"})) {
    if (!universal->is_number()) return fail(path + ".podCounts.universal must be a number");
  } else {
    const json& counts = array_at(slice.fields, {"podCounts", "individual"});
    if (auto fits = check_length(counts, slice.domains, path + ".podCounts.individual"); !fits) return fits;
  }
  const json& per_level = array_at(slice.fields, {"valuesPerLevel"});
  if (per_level.size() < slice.levels) {
    return fail(path + ".valuesPerLevel has " + std::to_string(per_level.size()) + " entries, but there are " +
                std::to_string(slice.levels) + " levels; give one for each level");
  }
  size_t text = slice.domains * kTextOfDomain;
  for (size_t level = 0; level < slice.levels; ++level) {
    const auto values = text_of_level(per_level[level], slice.domains, path + "." + item("valuesPerLevel", level));
    if (!values) return fail(values.error().message);
    text += *values + slice.domains;
  }
  const size_t tree = slice.domains * (kTreeOfDomain + slice.levels * (kItemBytes + kStringBytes + 16)) + 2 * text;
  if (budget.take(tree, text)) return Done{};
  return fail(path + " stands for " + std::to_string(slice.domains) + " domains, whose list would be " +
              std::to_string(text) + " bytes; that is more than the answer to this review may hold");
}

void add_values(const json& level, json& domains, size_t begin) {
  if (const json* universal = universal_of(level, {"universal"})) {
    for (size_t i = begin; i < domains.size(); ++i) domains[i]["values"].push_back(*universal);
    return;
  }
  const json& roots = array_at(level, {"individual", "roots"});
  const std::string prefix(string_at(level, {"individual", "prefix"}));
  const std::string_view suffix = string_at(level, {"individual", "suffix"});
  for (size_t i = begin; i < domains.size(); ++i) {
    const auto& root = roots[i - begin].get_ref<const std::string&>();
    domains[i]["values"].push_back(std::string(prefix).append(root).append(suffix));
  }
}

Outcome<> add_slice(const json& fields, size_t levels, json& domains, const std::string& path,
                    ConversionBudget& budget) {
  const int64_t count = int_at(fields, {"domainCount"}).value_or(0);
  const size_t begin = domains.size();
  if (count < 0 || count > kMostDomains - static_cast<int64_t>(begin)) {
    return fail(path + ".domainCount is " + std::to_string(count) + "; all slices together may have 0 to " +
                std::to_string(kMostDomains) + " domains");
  }
  const Slice slice{fields, static_cast<size_t>(count), levels};
  if (auto room = take_room(slice, path, budget); !room) return room;
  const json* universal = universal_of(fields, {"podCounts", "universal"});
  const json& counts = array_at(fields, {"podCounts", "individual"});
  for (size_t i = 0; i < slice.domains; ++i) {
    domains.push_back(json::object({{"values", json::array()}, {"count", universal ? *universal : counts[i]}}));
  }
  const json& per_level = array_at(fields, {"valuesPerLevel"});
  for (size_t level = 0; level < levels; ++level) add_values(per_level[level], domains, begin);
  return Done{};
}

Outcome<> to_domains(Fields& assignment, ConversionBudget& budget) {
  const json slices = take(assignment, "slices");
  json domains = json::array();
  const size_t levels = assignment["levels"].size();
  for (size_t i = 0; slices.is_array() && i < slices.size(); ++i) {
    if (auto added = add_slice(slices[i], levels, domains, item("slices", i), budget); !added) return added;
  }
  assignment["domains"] = std::move(domains);
  return Done{};
}

}  // namespace

Outcome<> convert_topology(Fields& assignment, QueueVersion to, ConversionBudget& budget) {
  return to == QueueVersion::kV1Beta2 ? to_slices(assignment) : to_domains(assignment, budget);
}

}  // namespace muster::conversion
