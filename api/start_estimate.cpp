#include "api/start_estimate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"

namespace muster {
namespace {

using nlohmann::json;

struct OutcomeName {
  StartOutcome outcome;
  std::string_view name;
};
constexpr OutcomeName kOutcomes[] = {
    {StartOutcome::kRange, "Range"},
    {StartOutcome::kNotBefore, "NotBefore"},
    {StartOutcome::kBeyondHorizon, "BeyondHorizon"},
    {StartOutcome::kRunTimesUnknown, "RunTimesUnknown"},
    {StartOutcome::kNoStart, "NoStart"},
    {StartOutcome::kNotSimulated, "NotSimulated"},
};

std::string until(Timestamp time, Timestamp now) {
  return rough_span(time.seconds - now.seconds);
}

bool has_earliest(StartOutcome outcome) {
  return outcome == StartOutcome::kRange || outcome == StartOutcome::kNotBefore ||
         outcome == StartOutcome::kBeyondHorizon;
}

}  // namespace

std::string rough_span(int64_t seconds) {
  constexpr int64_t kMinute = 60, kHour = 3600, kDay = 86'400;
  if (seconds <= 0) return "0s";
  if (seconds < 2 * kMinute) return std::to_string(seconds) + "s";
  if (seconds < 2 * kHour) return std::to_string((seconds + kMinute / 2) / kMinute) + "m";
  if (seconds < 10 * kHour) {
    const int64_t minutes = (seconds + 5 * kMinute) / (10 * kMinute) * 10;
    return std::to_string(minutes / 60) + "h" + (minutes % 60 == 0 ? "" : std::to_string(minutes % 60) + "m");
  }
  if (seconds < 2 * kDay) return std::to_string((seconds + kHour / 2) / kHour) + "h";
  return std::to_string((seconds + kDay / 2) / kDay) + "d";
}

std::string_view to_text(StartOutcome outcome) {
  for (const OutcomeName& known : kOutcomes) {
    if (known.outcome == outcome) return known.name;
  }
  return "";
}

std::string to_words(const StartBasis& basis) {
  std::vector<std::string> parts;
  if (basis.finished > 0)
    parts.push_back(std::to_string(basis.finished) + " finished Workload" + (basis.finished == 1 ? "" : "s") +
                    " of this LocalQueue");
  else if (basis.history)
    parts.emplace_back("finished Workloads of other queues");
  if (basis.maximum_times) parts.emplace_back("maximum execution times");
  if (basis.annotations) parts.emplace_back("annotations");
  std::string words;
  for (const std::string& part : parts) words += (words.empty() ? "" : ", ") + part;
  return words;
}

const StartEstimate* StartEstimates::find(std::string_view ns, std::string_view name) const {
  const auto found = by_path.find(path_of(ns, name));
  return found == by_path.end() ? nullptr : &found->second;
}

json to_json(const StartEstimate& estimate, Timestamp at) {
  json object = {{"outcome", to_text(estimate.outcome)}, {"at", time_to_json(at)}};
  if (has_earliest(estimate.outcome)) object["earliest"] = time_to_json(estimate.earliest);
  if (estimate.outcome == StartOutcome::kRange) object["latest"] = time_to_json(estimate.latest);
  const StartBasis& basis = estimate.basis;
  object["basis"] = {{"finishedWorkloads", basis.finished},
                     {"history", basis.history},
                     {"maximumExecutionTimes", basis.maximum_times},
                     {"annotations", basis.annotations}};
  if (const std::string words = to_words(basis); !words.empty()) object["basisInWords"] = words;
  return object;
}

std::optional<StartEstimate> read_start_estimate(const json& object) {
  const std::string_view name = string_at(object, {"outcome"});
  const auto* known = std::find_if(std::begin(kOutcomes), std::end(kOutcomes),
                                   [&](const OutcomeName& outcome) { return outcome.name == name; });
  if (known == std::end(kOutcomes)) return std::nullopt;
  StartEstimate estimate{.outcome = known->outcome};
  estimate.earliest = time_at(object, {"earliest"});
  estimate.latest = time_at(object, {"latest"});
  if (has_earliest(estimate.outcome) && estimate.earliest.is_zero()) return std::nullopt;
  if (estimate.outcome == StartOutcome::kRange && estimate.latest.is_zero()) return std::nullopt;
  const json basis = object_at(object, {"basis"});
  estimate.basis.finished =
      static_cast<uint32_t>(std::max<int64_t>(0, int_at(basis, {"finishedWorkloads"}).value_or(0)));
  const auto flag = [&](const char* key) { return basis.contains(key) && basis[key] == json(true); };
  estimate.basis.history = flag("history");
  estimate.basis.maximum_times = flag("maximumExecutionTimes");
  estimate.basis.annotations = flag("annotations");
  return estimate;
}

std::string short_text(const StartEstimate& estimate, Timestamp now) {
  switch (estimate.outcome) {
    case StartOutcome::kRange:
      if (estimate.latest <= now) return "now";
      return until(estimate.earliest, now) + "-" + until(estimate.latest, now);
    case StartOutcome::kNotBefore:
    case StartOutcome::kBeyondHorizon:
      return ">" + until(estimate.earliest, now);
    default:
      return "-";
  }
}

std::string to_sentence(const StartEstimate& estimate, Timestamp now) {
  const std::string basis = to_words(estimate.basis);
  const std::string from = basis.empty() ? "" : "from " + basis + "; ";
  switch (estimate.outcome) {
    case StartOutcome::kRange:
      if (estimate.latest <= now) return "at any moment (" + from + "an estimate, no promise)";
      return (estimate.earliest <= now ? "in at most " + until(estimate.latest, now)
                                       : "in " + until(estimate.earliest, now) + " to " + until(estimate.latest, now)) +
             " (p10 to p90; " + from + "an estimate, no promise)";
    case StartOutcome::kNotBefore:
      return "in " + until(estimate.earliest, now) + " or later (" + from + "an estimate, no promise)";
    case StartOutcome::kBeyondHorizon:
      return "not within " + until(estimate.earliest, now) + " (" + from + "an estimate, no promise)";
    case StartOutcome::kRunTimesUnknown:
      return "not known: nothing says how long the Workloads run that it waits for (no maximumExecutionTimeSeconds, "
             "and no history yet). The annotation simulate.muster.batch/run-time of these jobs gives a range";
    case StartOutcome::kNoStart:
      return "none: the end of running Workloads does not let it start";
    case StartOutcome::kNotSimulated:
      return "none: too many Workloads are ahead of it";
  }
  return "";
}

}  // namespace muster
