#include "jobs/unread_annotations.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
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

}  // namespace

std::vector<std::string> unread_annotations_of(const nlohmann::json& object, const JobKind* kind) {
  std::vector<std::string> sentences;
  const FieldPath own("metadata.annotations");
  find_in(object, own, sentences);
  if (kind == nullptr) return sentences;
  for (const ConstPodTemplateRef& pod_template : kind->read_pod_templates(object)) {
    const FieldPath path = annotations_path(pod_template);
    // The template of a pod is the pod.
    if (path.text() != own.text()) find_in(*pod_template.template_json, path, sentences);
  }
  return sentences;
}

}  // namespace muster::jobs
