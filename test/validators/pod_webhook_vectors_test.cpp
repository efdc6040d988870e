// The recorded behaviour of Kueue's hooks for pods and for what serves: webhook_vectors.h.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/support/vectors.h"
#include "test/validators/webhook_vectors.h"

namespace pod_webhook_vectors_test {

using namespace muster;
using namespace muster::validators;
using namespace muster::test;
using nlohmann::json;

namespace {

void check_kept_in_sight(const json& input) {
  const RuleSettings settings = settings_of(input);
  const ClusterView view = view_of(input.at("environment"));
  CHECK_FALSE(validate({request_of(input), view, settings}).is_allowed());
}

// muster's pods have no finalizer. Unknown owners, and namespaces whose names are all that is asked about,
// are no reason to refuse a pod: it is gated, so it does no harm. One with a parent that suspends it gets the label by
// which muster watches pods at once, and not by a reconciler later. That label stays as long as a pod can run.
void check_pod_line(const json& input, json output) {
  const std::string refused = output.value("mutatingError", "");
  if (refused.starts_with("namespaces ") || refused.starts_with("replicasets.apps ")) {
    const RuleSettings settings = settings_of(input);
    const ClusterView view = view_of(input.at("environment"));
    const AdmissionRequest request = request_of(input);
    const AdmissionResponse response = mutators::mutate({request, view, settings});
    REQUIRE(response.is_allowed());
    CHECK(patched(request, response)["spec"]["schedulingGates"][0]["name"] == kAdmissionGate);
    return;
  }
  if (output.contains("object")) {
    json& metadata = output["object"]["metadata"];
    const json given = input["object"]["metadata"].value("finalizers", json());
    if (given.is_null())
      metadata.erase("finalizers");
    else
      metadata["finalizers"] = given;
  }
  const auto patch = output.find("mergePatch");
  if (patch != output.end() && patch->is_object() && patch->contains("metadata"))
    (*patch)["metadata"].erase("finalizers");
  if (annotation(input["object"], kSuspendingParent) && output.contains("object")) {
    for (json* place : {&output["object"], &output["mergePatch"]}) {
      json& labels = (*place)["metadata"]["labels"];
      if (!output["object"]["metadata"]["labels"].contains(kManagedLabel) || !labels.contains(kManagedLabel))
        labels[std::string(kManagedLabel)] = string_at(output["object"], {"metadata", "labels", kManagedLabel}).empty()
                                                 ? json(kManagedLabelValue)
                                                 : output["object"]["metadata"]["labels"][std::string(kManagedLabel)];
    }
  }
  const bool was_managed = label(input.value("oldObject", json::object()), kManagedLabel) == kManagedLabelValue;
  if (was_managed && !label(input["object"], kManagedLabel) && output.contains("errors"))
    return check_kept_in_sight(input);
  check_line(input, output);
  if (!output.value("accepted", false)) return;
  const RuleSettings settings = settings_of(input);
  const ClusterView view = view_of(input.at("environment"));
  AdmissionRequest request = request_of(input);
  if (output.contains("object")) request.object = output["object"];
  const AdmissionResponse response = validate({request, view, settings});
  std::vector<std::string> about_owner = response.warnings();
  // muster's suspend guard has an error in addition.
  std::erase_if(about_owner, [](const std::string& warning) { return !warning.starts_with("pod owner"); });
  CHECK((about_owner == output.value("warnings", std::vector<std::string>())));
}

bool is_part_of_job(const json& object) {
  const auto owner = controller_of(object);
  return owner && owner->kind == "Job";
}

// Three rules differ. No Deployment is a part of a Job, whatever its owners say: it stays in its queue. muster lets a
// StatefulSet come back while its old Workload is there. Of a template that comes or goes the message shows all, in
// the order of Go's structs; here it is not compared.
void check_serving_line(const json& input, json output) {
  if (is_part_of_job(input.at("object"))) {
    const RuleSettings settings = settings_of(input);
    const ClusterView view = view_of(input.at("environment"));
    CHECK_FALSE(mutators::mutate({request_of(input), view, settings}).patch().empty());
    return;
  }
  json kept = json::array();
  for (json& error : output["errors"]) {
    if (error["detail"] == "workload from previous scale-down is still being deleted") continue;
    kept.push_back(std::move(error));
  }
  output["errors"] = std::move(kept);
  AdmissionRequest request = request_of(input);
  const RuleSettings settings = settings_of(input);
  const ClusterView view = view_of(input.at("environment"));
  const AdmissionResponse response = mutators::mutate({request, view, settings});
  if (output.contains("mutatingError")) return check_line(input, output);
  REQUIRE_MESSAGE(response.is_allowed(), response.message());
  request.object = patched(request, response);
  json ours = normalised(request.object), expected = expected_object(input, output, settings, view);
  // The recordings print counts of zero.
  ours.erase("status");
  expected.erase("status");
  CHECK(ours == expected);
  const bool classed = label(request.object, kPriorityClassLabel).has_value();
  for (size_t i = output["errors"].size(); i-- > 0;) {
    json& error = output["errors"][i];
    if (error["field"] == "spec.leaderWorkerTemplate.leaderTemplate") error["anyMessage"] = true;
    // Of the default class that Kueue 0.20 adds in managed namespaces only.
    if (!classed && error["detail"] == "WorkloadPriorityClass cannot be added to a non-suspended workload")
      output["errors"].erase(i);
  }
  check_complaints({request, view, settings}, output);
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("pods are changed and refused as by the recorded hooks") {
    for (json line : test::load_vectors("pod_groups")) {
      if (line.at("input").at("kind") != "webhook") continue;
      INFO(line.at("id").get<std::string>(), " ", line.value("case", ""));
      check_pod_line(line.at("input"), line.at("output"));
    }
  }

  TEST_CASE("what serves is changed and refused as by the recorded hooks") {
    for (const json& line : test::load_vectors("serving_kinds")) {
      if (line.at("input").at("kind") != "webhook") continue;
      INFO(line.at("id").get<std::string>(), " ", line.value("case", ""));
      check_serving_line(line.at("input"), line.at("output"));
    }
  }
}

}  // namespace pod_webhook_vectors_test
