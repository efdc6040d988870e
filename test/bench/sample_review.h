// An AdmissionReview as the API server sends it when a queued Job is created: with
// defaults filled in and managedFields, which are most of its bytes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace muster::bench {

inline nlohmann::json sample_job() {
  return nlohmann::json::parse(R"({
    "apiVersion": "batch/v1", "kind": "Job",
    "metadata": {
      "name": "sample-job", "namespace": "team-a", "uid": "0a6ee1f0-9d0c-4f0e-8d1b-1d8f2e6a7c11", "generation": 1,
      "creationTimestamp": "2026-01-02T03:04:05Z",
      "labels": {"kueue.x-k8s.io/queue-name": "team-a-queue", "app.kubernetes.io/name": "sample"},
      "managedFields": [{"manager": "kubectl-create", "operation": "Update", "apiVersion": "batch/v1",
        "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": {
          "f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}, "f:kueue.x-k8s.io/queue-name": {}}},
          "f:spec": {"f:backoffLimit": {}, "f:completionMode": {}, "f:completions": {}, "f:parallelism": {},
            "f:suspend": {}, "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"main\"}": {".": {},
              "f:args": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {".": {},
              "f:requests": {".": {}, "f:cpu": {}, "f:memory": {}}}, "f:terminationMessagePath": {},
              "f:terminationMessagePolicy": {}}}, "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {},
              "f:securityContext": {}, "f:terminationGracePeriodSeconds": {}}}}}}]},
    "spec": {
      "parallelism": 3, "completions": 3, "completionMode": "NonIndexed", "backoffLimit": 6, "suspend": false,
      "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": false,
      "template": {
        "metadata": {"labels": {"app.kubernetes.io/name": "sample"}},
        "spec": {
          "containers": [{"name": "main", "image": "registry.example.com/team-a/trainer:1.4.2", "args": ["--epochs=10"],
            "resources": {"requests": {"cpu": "1", "memory": "200Mi"}, "limits": {"memory": "200Mi"}},
            "env": [], "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent"}],
          "restartPolicy": "Never", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
          "securityContext": {}, "schedulerName": "default-scheduler"}}},
    "status": {}})");
}

// Filled up with environment variables until it has about `bytes` bytes.
inline std::string sample_review(size_t bytes) {
  auto review = nlohmann::json::parse(R"({
    "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
    "request": {
      "uid": "8c2a5a4e-33e6-4a7e-9f0a-5b1f1a6d2c77",
      "kind": {"group": "batch", "version": "v1", "kind": "Job"},
      "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
      "requestKind": {"group": "batch", "version": "v1", "kind": "Job"},
      "requestResource": {"group": "batch", "version": "v1", "resource": "jobs"},
      "name": "sample-job", "namespace": "team-a", "operation": "CREATE",
      "userInfo": {"username": "system:serviceaccount:team-a:builder", "uid": "5f2c0c7e-5c5c-4a8e-8d5a-3f0a9b1c2d3e",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:team-a", "system:authenticated"]},
      "oldObject": null, "dryRun": false,
      "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-create"}}})");
  auto job = sample_job();
  auto& env = job["spec"]["template"]["spec"]["containers"][0]["env"];
  for (size_t i = 0;; ++i) {
    review["request"]["object"] = job;
    std::string text = review.dump();
    if (text.size() >= bytes) return text;
    env.push_back({{"name", "SETTING_" + std::to_string(i)}, {"value", "value-number-" + std::to_string(i)}});
  }
}

}  // namespace muster::bench
