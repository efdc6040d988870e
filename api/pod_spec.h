// A pod template as jobs and Workloads carry it: its text, and the facts that
// scheduling asks for. Immutable once read, and shared: a thousand Jobs made from one
// manifest, and their Workloads, hold one PodSpec (state/template_pool.h).
// Source: k8s.io/api/core/v1.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/meta/quantity.h"
#include "api/node_affinity.h"
#include "api/tolerations.h"

namespace muster {

// Quantities by resource name ("cpu", "nvidia.com/gpu").
using ResourceList = std::map<std::string, Quantity, std::less<>>;
// What has no valid quantity is left out.
ResourceList read_resource_list(const nlohmann::json& object);
nlohmann::json to_json(const ResourceList& list);

struct ResourceRequirements {
  ResourceList requests;
  ResourceList limits;
};

struct ContainerSpec {
  std::string name;
  ResourceRequirements resources;
  // An init container that keeps running beside the others (restartPolicy: Always).
  bool sidecar = false;
};

struct PodSpec {
  // The JSON text of the whole PodSpec, keys in alphabetic order; nothing is lost in it.
  std::string text;
  std::vector<ContainerSpec> init_containers;
  std::vector<ContainerSpec> containers;
  std::optional<ResourceRequirements> resources;  // of the pod as a whole
  ResourceList overhead;
  std::string runtime_class;
  std::string priority_class;
  std::vector<Toleration> tolerations;
  RequiredNodeAffinity node_affinity;
  bool resource_claims = false;  // it asks for devices by claims (dynamic resource allocation)

  explicit PodSpec(const nlohmann::json& pod_spec);
};
using PodSpecPtr = std::shared_ptr<const PodSpec>;
// Only what its pods request, so that equal requests are equal texts: resources of the pod and of its containers,
// claims of devices, overhead and RuntimeClass.
PodSpecPtr read_requests(const nlohmann::json& pod_spec);

struct PodTemplate {
  // The JSON text of metadata, of which most jobs have little.
  std::string metadata_text;
  // Equal values are shared: state/template_pool.h.
  mutable PodSpecPtr spec;

  // {"metadata": ..., "spec": ...}
  nlohmann::json to_json() const;
};
PodTemplate read_pod_template(const nlohmann::json& pod_template);

}  // namespace muster
