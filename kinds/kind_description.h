// A kind of job, described as data: where its suspension, its pod templates and its state are. muster queues such a
// kind without code for it. The rows that are built in are YAML files in kinds/rows; docs/kinds.md explains the
// format.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "api/meta/resource_type.h"
#include "base/result.h"
#include "kinds/predicate.h"
#include "kinds/value_path.h"

namespace muster {

inline constexpr std::string_view kJobKindApiVersion = "config.muster.batch/v1alpha1";
inline constexpr std::string_view kJobKindKind = "JobKind";

// A factor of a pod set's count.
struct CountFactor {
  ValuePath path;        // within the element
  int32_t absent = 1;    // when there is no number
  int32_t at_least = 0;  // smaller numbers count as this
};

// Where one or more pod sets are.
struct PodSetSource {
  ValuePath path;  // of the element that holds template and count; with `each` of a list of them
  bool each = false;
  std::string name;  // of the pod set; empty: the text at name_path of each element
  ValuePath name_path;
  ValuePath pod_template;           // within the element
  std::optional<Predicate> when;    // of the whole object; where it does not hold there are no such pod sets
  std::vector<CountFactor> counts;  // their product; none: 1
};

// A label selector of the job's pods is some of these in a row: a text, then a value of the object, which can be
// absent.
struct SelectorPart {
  std::string text;
  ValuePath value;  // empty: none follows
};
// For an object; empty when a value cannot be one of a label. Where the object is gone, only its metadata.name is
// known: then it is empty too when it needs another value.
std::string pod_selector_of(const std::vector<SelectorPart>& parts, const nlohmann::json& object);
std::string pod_selector_of_gone(const std::vector<SelectorPart>& parts, std::string_view name);

// How a job ends.
struct EndRule {
  // By a condition: of all such rules that apply, the condition that is first in the object's list counts; the
  // message is the condition's. Empty: by `when`.
  std::string condition;
  bool success = false;  // of a condition
  Predicate when;
  Predicate succeeded;
  ValuePath message;              // can be empty
  std::string message_condition;  // whose message it is; can be empty
  std::string message_text;       // where neither of these is given
};

// A kind whose objects say more of a job than the job itself: the runtime of a TrainJob. Watched with the jobs.
struct ConsultedKind {
  std::string group, version, kind, plural;
  bool namespaced = true;

  // Lives as long as this.
  const ResourceType& type() const { return type_; }
  void settle();

 private:
  std::string api_version_;
  ResourceType type_{};
};

// What the kind's own controller makes for a job. It uses the quota of the job, as far as these pod sets go, and is not
// queued by itself.
struct OwnedKind {
  std::string group, kind;            // both empty: of any kind
  std::vector<std::string> pod_sets;  // of the job, by name: those whose pods these objects make; empty: all
  int32_t times = 1;                  // how many of them the quota is for, where one replaces another
};

struct KindHook;

struct KindDescription {
  // A Workload has at most 18 pod sets, and so has a job.
  static constexpr size_t kMostPodSets = 18;

  std::string framework;  // in integrations.frameworks
  std::string group, version, kind, plural;
  ValuePath suspend;
  // The value there that means "suspended".
  bool suspended_when = true;
  ValuePath managed_by;         // can be empty
  std::string default_manager;  // the value there of the kind's own controller
  std::vector<PodSetSource> pod_sets;
  std::string pod_index_label;              // of the pods, for topology requests; can be empty
  std::vector<SelectorPart> pod_selector;   // of its pods, by their labels; can be empty
  std::vector<ValuePath> priority_classes;  // tried in order, before those of the templates
  bool prebuilt_workloads = true;           // a job can name an existing Workload of a user
  Predicate active, ready;
  std::vector<EndRule> ends;
  Predicate on_hold;                     // its controller does nothing until a user repairs it; it needs no quota
  Predicate left_alone;                  // muster ignores such an object until it has a Workload
  bool checked_on_update = false;        // the forms of labels and annotations are checked at updates too
  bool gated_updates = false;            // updates outside of queues: see JobKind::has_gated_updates
  bool elastic = false;                  // its jobs can have kueue.x-k8s.io/elastic-job
  const KindHook* hook = nullptr;        // code for what paths cannot say (kinds/kind_hook.h); lives forever
  std::vector<ConsultedKind> consulted;  // its addresses are settled
  // Other objects with such a job as their controller are queued by themselves.
  std::vector<OwnedKind> owned;

  // "kubeflow.org/v1", and the type itself; they live as long as this.
  const ResourceType& type() const { return type_; }
  // "pytorchjob": its name in small letters, as kubectl has it.
  const std::string& singular() const { return singular_; }
  // The item of `owned` for this kind; nullptr: there is none.
  const OwnedKind* find_owned(std::string_view of_group, std::string_view of_kind) const;
  // As it was read, for comparing.
  std::string text;
  // Once all of the above is set.
  void settle();

 private:
  std::string api_version_, singular_;
  ResourceType type_{};
};
using KindDescriptionPtr = std::shared_ptr<const KindDescription>;

// Strict: fields that are not known, wrong types and paths that are none are errors, with the field's path.
Result<KindDescriptionPtr, FieldErrors> read_kind_description(const nlohmann::json& object);

// These are questions to registered_kinds() (kinds/kind_registry.h).
// All kinds that are described: those that are built in, in the order of their frameworks, then the configuration's.
std::span<const KindDescriptionPtr> described_kinds();
// nullptr: no such kind is described.
const KindDescription* find_described_kind(std::string_view group, std::string_view kind);

// The type of a kind that a described kind consults; nullptr: none does.
const ResourceType* find_consulted_kind(std::string_view group, std::string_view kind);

// Jobs, JobSets, and what is described.
std::vector<const ResourceType*> queued_types();
bool is_queued_type(std::string_view group, std::string_view resource);

}  // namespace muster
