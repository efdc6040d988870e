// A job of a described kind, as far as muster reads it: what its description finds in the object, as values. Immutable
// once read, and shared.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/pod_spec.h"

namespace muster {

struct KindDescription;
struct PodSetSource;

struct DescribedPodSet {
  std::string name;
  int32_t count = 0;
  size_t source = 0;   // KindDescription::pod_sets
  size_t element = 0;  // of the source's list; 0 where it is none
  PodTemplate pod_template;
  bool written = true;            // the object has this template; otherwise a start writes it
  std::string topology_labels{};  // JSON text, for topology requests; empty: the description's
  int32_t reclaimable = 0;        // pods that have ended permanently
  std::string place{};            // for messages, where a hook made it: "spec.driver"
};

struct DescribedEnd {
  bool success = false;
  std::string message;
};

struct DescribedJob {
  const KindDescription* kind = nullptr;  // lives as long as the process
  ObjectMeta meta;
  bool suspended = false;
  std::string managed_by;
  std::string priority_class;  // of priorityClass, not of a template; can be empty
  std::vector<DescribedPodSet> pod_sets;
  // Why it cannot be queued: too many pod sets, two of one name; empty: it can.
  std::string unreadable;
  // For each source that is a list: its elements as JSON texts without their pod templates. A list is written whole
  // or not at all.
  std::vector<std::vector<std::string>> lists;
  bool active = false;
  bool pods_ready = false;
  std::optional<DescribedEnd> end;
  bool left_alone = false;
  // Its controller has work to do with the quota while the object is being deleted.
  bool works_while_deleted = false;
  // What the hook of its kind needs to start and stop it, as JSON text.
  std::string kept;
  // Which object is missing that says what its pod sets are; empty: none.
  std::string awaited;
  std::string pod_selector;  // of its pods; empty: no labels say whose they are
  bool on_hold = false;      // see KindDescription
  // The JobSet that its controller makes, where a hook knows it: names, replicas, order and counts. Its readiness is
  // that of the job; nullptr: pods_ready is.
  JobSetPtr parts{};
};

// Never fails: what has the wrong shape reads as absent. `kind` must outlive the job.
DescribedJobPtr read_described_job(const KindDescription& kind, const nlohmann::json& object);
// The same as far as pod sets, for hooks that make these: refuses too many, and two of one name.
void check_pod_sets(DescribedJob& job);

// Of an element of a source, with bounds: never negative.
int32_t count_of(const PodSetSource& source, const nlohmann::json& element);
// The name of the pod set of such an element, in small letters.
std::string pod_set_name(const PodSetSource& source, const nlohmann::json& element);

}  // namespace muster
