#include "forecast/scenario_reader.h"

#include <algorithm>

#include "forecast/scenario_build.h"

namespace muster::forecast {
namespace {

using nlohmann::json;

constexpr int64_t kDefaultStart = 1'767'225'600;  // 2026-01-01T00:00:00Z

}  // namespace

const ResourceType* basic_type(std::string_view group, std::string_view kind) {
  for (const ResourceType* type :
       {&kNamespaces, &kLimitRanges, &kRuntimeClasses, &kPriorityClasses, &kResourceFlavors, &kClusterQueues,
        &kLocalQueues, &kCohorts, &kAdmissionChecks, &kWorkloadPriorityClasses}) {
    if (type->kind == kind && group_of(type->api_version) == group) return type;
  }
  return nullptr;
}

ScenarioBuild::ScenarioBuild(const std::vector<SourceObject>& objects, const ScenarioOptions& options)
    : options_(options), objects_(objects), state_(options.settings.queues), decisions_(options.settings.queues) {
  read_.scenario.settings = options.settings;
  read_.scenario.stop_time = options.stop_time;
  read_.scenario.until = options.until;
  read_.scenario.seed = options.seed;
}

Result<ReadScenario> ScenarioBuild::read() {
  for (const auto step :
       {&ScenarioBuild::complete, &ScenarioBuild::take_basics, &ScenarioBuild::take_workloads,
        &ScenarioBuild::take_jobs, &ScenarioBuild::take_pods, &ScenarioBuild::take_table, &ScenarioBuild::take_nodes}) {
    if (auto done = (this->*step)(); !done) return fail(done.error().message);
  }
  if (auto done = arrange(); !done) return fail(done.error().message);
  mark_counted_nodes();
  say_what_was_left_out();
  say_which_flavors_have_no_nodes();
  return std::move(read_);
}

Failure<Error> ScenarioBuild::wrong(const SourceObject& source, const std::string& sentence) {
  return fail(source.place + ": " + std::string(string_at(source.value, {"kind"})) + "/" + name_in(source.value) +
              ": " + sentence);
}

Outcome<> ScenarioBuild::wrong_annotation(const SourceObject& source, const std::string& sentence) {
  if (!source.is_of_others) return wrong(source, sentence);
  ++unread_;
  return Done{};
}

Outcome<> ScenarioBuild::complete() {
  std::set<std::string> seen;
  Timestamp latest;
  for (size_t i = 0; i < objects_.size(); ++i) {
    json& object = objects_[i].value;
    if (name_in(object).empty()) return wrong(objects_[i], "metadata.name: Required value: it has no name");
    json& meta = object["metadata"];
    const jobs::JobKind* kind = jobs::find_job_kind(group_in(object), string_at(object, {"kind"}));
    const bool namespaced = kind != nullptr || string_at(object, {"kind"}) == kWorkloads.kind ||
                            string_at(object, {"kind"}) == kLocalQueues.kind ||
                            string_at(object, {"kind"}) == kLimitRanges.kind;
    if (namespaced && string_at(meta, {"namespace"}).empty()) meta["namespace"] = "default";
    if (string_at(meta, {"uid"}).empty()) meta["uid"] = "simulated-" + std::to_string(i + 1);
    if (kind != nullptr) uids_of_jobs_.emplace(string_at(meta, {"uid"}));
    meta["resourceVersion"] = std::to_string(i + 1);
    const std::string identity = std::string(group_in(object)) + "/" + std::string(string_at(object, {"kind"})) + "/" +
                                 std::string(string_at(meta, {"namespace"})) + "/" + name_in(object);
    if (!seen.insert(identity).second)
      return wrong(objects_[i], "metadata.name: Duplicate value: another object in the input has this name");
    latest = std::max(latest, time_at(object, {"metadata", "creationTimestamp"}));
    for (const json& condition : array_at(object, {"status", "conditions"}))
      latest = std::max(latest, time_at(condition, {"lastTransitionTime"}));
  }
  if (options_.start)
    read_.scenario.start = *options_.start;
  else
    read_.scenario.start = latest.is_zero() ? TimePoint(std::chrono::seconds(kDefaultStart)) : to_time_point(latest);
  return Done{};
}

void ScenarioBuild::put(TypedObject object) {
  state_.put_watched(object);
  read_.scenario.objects.push_back(std::move(object));
}

Outcome<> ScenarioBuild::take_basics() {
  std::set<std::string> named, known;
  for (SourceObject& source : objects_) {
    json& object = source.value;
    if (const std::string_view ns = string_at(object, {"metadata", "namespace"}); !ns.empty()) named.emplace(ns);
    const ResourceType* type = basic_type(group_in(object), string_at(object, {"kind"}));
    if (type == nullptr) continue;
    const Labels annotations = read_meta(object).annotations;
    if (*type == kNamespaces) {
      known.insert(name_in(object));
      object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name_in(object);
    }
    if (auto done = take_traits(*type, source, annotations); !done) return done;
    put(read_object(*type, object));
  }
  for (const ArrivalRow& row : options_.table) named.insert(row.job.ns);
  uint64_t version = objects_.size();
  for (const std::string& ns : named) {
    if (known.contains(ns)) continue;
    put(read_object(kNamespaces, {{"metadata",
                                   {{"name", ns},
                                    {"uid", "namespace-" + ns},
                                    {"resourceVersion", std::to_string(++version)},
                                    {"labels", {{"kubernetes.io/metadata.name", ns}}}}}}));
  }
  return Done{};
}

Outcome<> ScenarioBuild::take_traits(const ResourceType& type, SourceObject& source, const Labels& annotations) {
  if (type == kResourceFlavors) {
    const auto traits = flavor_traits(annotations);
    if (!traits) return wrong_annotation(source, traits.error().message);
    read_.scenario.flavors[name_in(source.value)] = *traits;
  } else if (type == kAdmissionChecks) {
    const auto after = check_traits(annotations);
    if (after) read_.scenario.checks[name_in(source.value)] = *after;
    // Its controller would set this.
    if (!source.value.contains("status"))
      source.value["status"]["conditions"] = {
          {{"type", "Active"}, {"status", "True"}, {"reason", "Active"}, {"message", "simulated"}}};
    if (!after) return wrong_annotation(source, after.error().message);
  } else if (auto none = no_traits(annotations); !none) {
    return wrong_annotation(source, none.error().message);
  }
  return Done{};
}

void ScenarioBuild::say_what_was_left_out() {
  std::vector<std::string>& notes = read_.notes;
  const auto say = [&](size_t count, const std::string& sentence) {
    if (count > 0) notes.push_back(std::to_string(count) + " " + sentence);
  };
  if (assumed_ > 0) {
    read_.assumed = std::to_string(assumed_) + " of " + std::to_string(read_.scenario.shapes.size()) +
                    " jobs do not say how long they run; " + format_duration(options_.run_time) +
                    " assumed (--run-time, or the annotation simulate.muster.batch/run-time)";
    notes.push_back(read_.assumed);
  }
  say(unread_, "object(s) of the cluster have annotations of the simulation that are wrong and are left out");
  say(queueless_, "jobs name no queue and are left out");
  say(nodeless_, "pods are on nodes that are not in the input and are left out");
  say(over_, "jobs or Workloads are over and are left out");
  say(without_replicas_, "sets have no replicas and are left out");
  say(foreign_, "jobs are managed by another controller and are left out");
  say(stored_beside_templates_, "stored Workloads are left out: with random arrivals only templates count");
  for (const auto& [kind, count] : others_) say(count, "objects of kind " + kind + " have no part in a simulation");
}

Result<ReadScenario> read_scenario(const std::vector<SourceObject>& objects, const ScenarioOptions& options) {
  return ScenarioBuild(objects, options).read();
}

}  // namespace muster::forecast
