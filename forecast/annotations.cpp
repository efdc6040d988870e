#include "forecast/annotations.h"

#include <functional>
#include <vector>

#include "base/did_you_mean.h"
#include "base/whole_number.h"

namespace muster::forecast {
namespace {

constexpr uint64_t kMostNodes = 1'000'000;

using Take = std::function<Outcome<>(const std::string& value)>;
struct Known {
  std::string name;
  Take take;
};

Outcome<> read(const Labels& annotations, const std::vector<Known>& known) {
  std::vector<std::string> names;
  for (const Known& one : known) names.push_back(one.name);
  for (const auto& [key, value] : annotations) {
    if (!key.starts_with(kSimulatePrefix)) continue;
    const std::string path = "metadata.annotations[" + key + "]: ";
    const std::string name = key.substr(kSimulatePrefix.size());
    const Known* found = nullptr;
    for (const Known& one : known) {
      if (one.name == name) found = &one;
    }
    if (found == nullptr)
      return fail(path + "this kind has no such annotation of the simulation" + did_you_mean(name, names));
    if (auto taken = found->take(value); !taken)
      return fail(path + "Invalid value: \"" + value + "\": " + taken.error().message);
  }
  return Done{};
}

Take span_into(Duration& to) {
  return [&to](const std::string& value) -> Outcome<> {
    const auto span = parse_span(value);
    if (!span) return fail(span.error().message);
    to = *span;
    return Done{};
  };
}

Take span_into(std::optional<Duration>& to) {
  return [&to](const std::string& value) -> Outcome<> {
    const auto span = parse_span(value);
    if (!span) return fail(span.error().message);
    to = *span;
    return Done{};
  };
}

Take number_into(double& to, double least, double most, const char* sentence) {
  return [&to, least, most, sentence](const std::string& value) -> Outcome<> {
    const auto parsed = finite_number(value);
    if (!parsed || *parsed < least || *parsed > most) return fail(sentence);
    to = *parsed;
    return Done{};
  };
}

}  // namespace

Result<Duration> parse_span(std::string_view text) {
  Duration span{};
  if (const auto seconds = finite_number(text)) {
    if (std::abs(*seconds) > 1e9) return fail("must be at most 10 years");
    span = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*seconds));
  } else {
    const auto parsed = parse_duration(text);
    if (!parsed) return fail("must be a duration, as 90s, 10m or 1h30m, or a number of seconds");
    span = *parsed;
  }
  if (span < Duration::zero()) return fail("must not be negative");
  if (span > kLongestSpan) return fail("must be at most 10 years");
  return span;
}

Result<JobTraits> job_traits(const Labels& annotations) {
  JobTraits traits;
  const auto arrival = [&](const std::string& value) -> Outcome<> {
    if (const auto time = parse_rfc3339(value)) {
      traits.arrival_time = *time;
      return Done{};
    }
    const auto span = parse_span(value);
    if (!span) return fail("must be a time, as 2026-01-01T08:00:00Z, or a duration after the start, as 10m");
    traits.arrival = *span;
    return Done{};
  };
  const auto keeps = [&](const std::string& value) -> Outcome<> {
    if (value != "true" && value != "false") return fail("must be true or false");
    traits.keeps_progress = value == "true";
    return Done{};
  };
  const auto copies = [&](const std::string& value) -> Outcome<> {
    const auto parsed = whole_number<uint32_t>(value);
    if (!parsed || *parsed < 1 || *parsed > 10'000'000) return fail("must be a number from 1 to 10000000");
    traits.copies = *parsed;
    return Done{};
  };
  auto done = read(annotations, {{"arrival", arrival},
                                 {"run-time", span_into(traits.run_time)},
                                 {"keeps-progress", keeps},
                                 {"copies", copies},
                                 {"every", span_into(traits.every)},
                                 {"weight", number_into(traits.weight, 0, 1e9, "must be a number from 0 to 1e9")}});
  if (!done) return fail(done.error().message);
  return traits;
}

Result<std::map<std::string, Quantity>> parse_amounts(std::string_view text) {
  std::map<std::string, Quantity> amounts;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find(';', from), text.size());
    const std::string one(text.substr(from, end - from));
    const size_t equals = one.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail("\"" + one + "\" is no amount; write them as cpu=4;memory=8Gi");
    const auto quantity = Quantity::parse(one.substr(equals + 1));
    if (!quantity) return fail("\"" + one + "\": " + quantity.error().message);
    if (quantity->sign() < 0) return fail("\"" + one + "\": must not be negative");
    if (!amounts.emplace(one.substr(0, equals), *quantity).second)
      return fail("\"" + one.substr(0, equals) + "\" is there twice");
    from = end + 1;
  }
  return amounts;
}

Result<FlavorTraits> flavor_traits(const Labels& annotations) {
  FlavorTraits traits;
  const auto nodes = [&](const std::string& value) -> Outcome<> {
    traits.any_number_of_nodes = value == "unlimited";
    if (traits.any_number_of_nodes) return Done{};
    const auto count = whole_number<uint64_t>(value);
    if (!count || *count > kMostNodes) return fail("must be a number from 0 to 1000000, or unlimited");
    traits.nodes = *count;
    return Done{};
  };
  const auto resources = [&](const std::string& value) -> Outcome<> {
    const auto amounts = parse_amounts(value);
    if (!amounts) return fail(amounts.error().message);
    if (amounts->empty()) return fail("names no resource; write them as cpu=32;memory=128Gi");
    for (const auto& [name, quantity] : *amounts) traits.node_resources[name] = to_amount(name, quantity);
    traits.node_resources.try_emplace(std::string(kPodsResource), kPodsOfNode);
    return Done{};
  };
  auto done = read(annotations, {{"startup", span_into(traits.startup)},
                                 {"failure-odds", number_into(traits.failure_odds, 0, 1, "must be from 0 to 1")},
                                 {"nodes", nodes},
                                 {"node-resources", resources}});
  if (!done) return fail(done.error().message);
  const auto at = [](const char* name) {
    return "metadata.annotations[" + std::string(kSimulatePrefix) + name + "]: ";
  };
  if (traits.nodes.value_or(0) > 0 && traits.node_resources.empty())
    return fail(at("node-resources") + "Required value: says what one of the nodes has, as cpu=32;memory=128Gi");
  if (!traits.nodes && !traits.node_resources.empty())
    return fail(at("nodes") + "Required value: says how many nodes with these resources there are");
  return traits;
}

Result<Duration> check_traits(const Labels& annotations) {
  Duration after{};
  auto done = read(annotations, {{"answer-after", span_into(after)}});
  if (!done) return fail(done.error().message);
  return after;
}

Outcome<> no_traits(const Labels& annotations) {
  return read(annotations, {});
}

}  // namespace muster::forecast
