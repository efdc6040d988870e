// What manifests say of the simulation: annotations of the prefix simulate.muster.batch/. Strict: an annotation of the
// prefix that the kind does not have is an error.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta/quantity.h"
#include "api/meta/selectors.h"
#include "base/clock.h"
#include "base/result.h"
#include "forecast/scenario.h"

namespace muster::forecast {

inline constexpr std::string_view kSimulatePrefix = "simulate.muster.batch/";

// Ten years: sums stay far below the limit of 64-bit nanoseconds.
inline constexpr Duration kLongestSpan = std::chrono::hours(24 * 3650);

// Of a job or a stored Workload.
struct JobTraits {
  // After the start, or a time; nullopt: at the start.
  std::optional<Duration> arrival{};
  std::optional<Timestamp> arrival_time{};
  std::optional<Duration> run_time{};
  bool keeps_progress = false;
  uint32_t copies = 1;  // arrivals of it, one each `every`
  Duration every{};
  double weight = 1;
};

// Errors begin with the path of the annotation.
Result<JobTraits> job_traits(const Labels& annotations);
Result<FlavorTraits> flavor_traits(const Labels& annotations);
// "cpu=4;memory=16Gi", none negative, none twice. The error is a sentence.
Result<std::map<std::string, Quantity>> parse_amounts(std::string_view text);
// simulate.muster.batch/answer-after of an AdmissionCheck.
Result<Duration> check_traits(const Labels& annotations);
// Of any other kind: there is none.
Outcome<> no_traits(const Labels& annotations);

// "10m", or a number of seconds; never negative.
Result<Duration> parse_span(std::string_view text);

}  // namespace muster::forecast
