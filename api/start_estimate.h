// When a Workload that waits is expected to start: a range, what it was made from, and its words. An estimate is no
// promise. Made by forecast/starts; shown by explain, lists and the page.
//
// It names no Workload, no namespace and no queue but the LocalQueue of the pending Workload.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/meta/time.h"
#include "base/clock.h"

namespace muster {

enum class StartOutcome : uint8_t {
  kRange,            // it starts between `earliest` and `latest` in 8 of 10 courses
  kNotBefore,        // not before `earliest`; its latest start is beyond what was simulated
  kBeyondHorizon,    // not within the time that was simulated: until `earliest`
  kRunTimesUnknown,  // it waits for Workloads with unknown run times
  kNoStart,          // the end of other Workloads does not let it start: something must be changed
  kNotSimulated      // more Workloads are ahead of it than are simulated
};
// "Range", "NotBefore" and so on.
std::string_view to_text(StartOutcome outcome);

// Where the run times come from that the estimate depends on: those of its queue and of its cohort.
struct StartBasis {
  uint32_t finished = 0;       // Workloads of the same LocalQueue that are in the history
  bool history = false;        // of any queue
  bool maximum_times = false;  // spec.maximumExecutionTimeSeconds
  bool annotations = false;

  bool operator==(const StartBasis&) const = default;
};
// "37 finished Workloads of this LocalQueue, maximum execution times"; empty: nothing is known.
std::string to_words(const StartBasis& basis);

struct StartEstimate {
  StartOutcome outcome = StartOutcome::kNotSimulated;
  Timestamp earliest{};  // p10
  Timestamp latest{};    // p90
  StartBasis basis{};

  bool operator==(const StartEstimate&) const = default;
};

// Of one moment. Immutable once shared.
struct StartEstimates {
  Timestamp at;
  std::unordered_map<std::string, StartEstimate> by_path;  // "namespace/name" of the Workload

  // nullptr: there is none.
  const StartEstimate* find(std::string_view ns, std::string_view name) const;
};

// {outcome, earliest, latest, basis, at}; times that say nothing are left out.
nlohmann::json to_json(const StartEstimate& estimate, Timestamp at);
// nullopt: it is no such object, or of an outcome that this version does not know.
std::optional<StartEstimate> read_start_estimate(const nlohmann::json& object);

// At most two digits for distant times: "45s", "12m", "3h20m", "2d".
std::string rough_span(int64_t seconds);
// As a cell of a table: "10m-25m", ">3h", "-" where nothing is known.
std::string short_text(const StartEstimate& estimate, Timestamp now);
// "in 10m to 25m (8 of 10; from 37 finished Workloads of this LocalQueue; an estimate, no promise)".
std::string to_sentence(const StartEstimate& estimate, Timestamp now);

}  // namespace muster
