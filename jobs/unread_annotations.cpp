#include "jobs/unread_annotations.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/known_keys.h"
#include "jobs/topology.h"

namespace muster::jobs {
namespace {

struct UnreadAnnotation {
  std::string_view name;
  std::string_view instead;
};
constexpr UnreadAnnotation kUnread[] = {
    {"kueue.x-k8s.io/wait-for-pods-ready", "the timeouts of waitForPodsReady in the configuration apply"},
    {"kueue.x-k8s.io/pod-group-max-not-ready-count", "the group is ready when all of its pods are"},
    {"kueue.x-k8s.io/podset-topology-spreading",
     "the scheduler places the pods; spread them with topologySpreadConstraints"},
    {"kueue.x-k8s.io/alpha-preemption-config", "spec.preemption alone decides which Workloads can be preempted"},
};

void find_in(const nlohmann::json& holder, const FieldPath& path, std::vector<std::string>& sentences) {
  for (const UnreadAnnotation& unread : kUnread) {
    if (!annotation(holder, unread.name)) continue;
    std::string sentence = path.key(unread.name);
    sentence.append(": muster does not read this annotation; ").append(unread.instead);
    sentences.push_back(std::move(sentence));
  }
}

// They belong into the pod templates, where they have a warning (unmet_requests.h). The template of a pod is the pod.
void find_misplaced_topology(const nlohmann::json& object, const FieldPath& path, std::vector<std::string>& sentences) {
  for (const std::string_view name : kTopologyAnnotations) {
    if (!annotation(object, name)) continue;
    sentences.push_back(path.key(name).text() +
                        ": has no effect here, and muster knows no topologies; remove the annotation");
  }
}

// Finds misspelt keys, up to the bounds of the header.
class MisspeltKeys {
 public:
  // Of the object with labels and annotations, which stand at `path`.
  void find_at(const nlohmann::json& holder, const FieldPath& path) {
    for (const char* map : {"labels", "annotations"}) {
      const nlohmann::json& keys = object_at(holder, {map});
      for (auto it = keys.begin(); it != keys.end(); ++it) compare(it.key(), path, map);
    }
  }
  std::vector<std::string> take() { return std::move(sentences_); }

 private:
  void compare(const std::string& key, const FieldPath& path, const char* map) {
    if (sentences_.size() == kMostMisspeltKeys || compared_ == kMostComparedKeys) return;
    if (!can_be_misspelt(key)) return;
    ++compared_;
    const std::string_view meant = nearest_known_key(key);
    if (meant.empty()) return;
    sentences_.push_back(path.child(map).key(key).text() + ": is not known; did you mean " + std::string(meant) + "?");
  }

  size_t compared_ = 0;
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> unread_annotations_of(const nlohmann::json& object, const JobKind* kind) {
  std::vector<std::string> sentences;
  const FieldPath own("metadata.annotations");
  find_in(object, own, sentences);
  if (kind == nullptr) return sentences;
  if (kind != &plain_pod) find_misplaced_topology(object, own, sentences);
  for (const ConstPodTemplateRef& pod_template : kind->read_pod_templates(object)) {
    const FieldPath path = annotations_path(pod_template);
    // The template of a pod is the pod.
    if (path.text() != own.text()) find_in(*pod_template.template_json, path, sentences);
  }
  return sentences;
}

std::vector<std::string> misspelt_keys_of(const nlohmann::json& object, const JobKind* kind) {
  MisspeltKeys found;
  const FieldPath own("metadata");
  found.find_at(object_at(object, {"metadata"}), own);
  if (kind == nullptr) return found.take();
  for (const ConstPodTemplateRef& pod_template : kind->read_pod_templates(object)) {
    const FieldPath path = pod_template.flat ? pod_template.path : pod_template.path.child("metadata");
    if (path.text() == own.text()) continue;  // the template of a pod is the pod
    const nlohmann::json& holder = *pod_template.template_json;
    found.find_at(pod_template.flat ? holder : object_at(holder, {"metadata"}), path);
  }
  if (kind != &jobset) return found.take();
  const nlohmann::json& replicated = array_at(object, {"spec", "replicatedJobs"});
  for (size_t i = 0; i < replicated.size(); ++i) {
    found.find_at(object_at(replicated[i], {"template", "metadata"}),
                  FieldPath("spec").child("replicatedJobs").index(i).child("template").child("metadata"));
  }
  return found.take();
}

}  // namespace muster::jobs
