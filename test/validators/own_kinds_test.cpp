// Rules for a kind that an administrator describes: its field for the suspension is somewhere else, and false suspends.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "kinds/kind_registry.h"
#include "validators/validator.h"

namespace own_kinds_test {

using namespace muster;
using namespace muster::validators;
using nlohmann::json;

namespace {

AdmissionRequest update_of_a_boat(bool sailed, int rowers_before, bool sails, int rowers) {
  const KindDescriptionPtr boat = *read_kind_description(json::parse(R"({"apiVersion": "config.muster.batch/v1alpha1",
      "kind": "JobKind", "framework": "example.com/boat", "group": "example.com", "version": "v1", "kindName": "Boat",
      "resource": "boats", "suspend": "spec.sails.set", "suspendedWhen": false,
      "podSets": [{"name": "crew", "path": "spec.crew", "count": ["rowers"]}],
      "active": {"path": "status.running", "nonzero": true}, "ready": {"condition": "Ready"},
      "ends": [{"condition": "Arrived", "success": true}]})"));
  const auto kinds = KindRegistry::with(std::vector{boat});
  REQUIRE(kinds.ok());
  jobs::register_kinds(*kinds);
  const auto object = [](bool set, int count) {
    return json{
        {"apiVersion", "example.com/v1"},
        {"kind", "Boat"},
        {"metadata", {{"name", "b"}, {"namespace", "team-a"}, {"labels", {{"kueue.x-k8s.io/queue-name", "main"}}}}},
        {"spec",
         {{"sails", {{"set", set}}},
          {"crew",
           {{"rowers", count}, {"template", {{"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}}}}}}}};
  };
  AdmissionRequest request;
  request.operation = Operation::kUpdate;
  request.group = "example.com";
  request.version = "v1";
  request.kind = "Boat";
  request.resource = "boats";
  request.namespace_ = "team-a";
  request.user.username = "alice";
  request.old_object = object(sailed, rowers_before);
  request.object = object(sails, rowers);
  return request;
}

std::string errors_of(const AdmissionRequest& request) {
  const ClusterView view;
  RuleSettings settings;
  settings.frameworks = {"batch/job", "example.com/boat"};
  const AdmissionResponse response = validate({request, view, settings});
  std::string text;
  for (const FieldError& error : response.errors()) text += error.text() + "\n";
  return text;
}

}  // namespace

TEST_CASE("own kinds: the suspend guard names the path and the value that suspend the kind") {
  CHECK(errors_of(update_of_a_boat(false, 1, true, 1)) ==
        "spec.sails.set: Forbidden: this Boat is queued in LocalQueue \"main\" and is unsuspended by muster on "
        "admission; user \"alice\" cannot unsuspend it (spec.sails.set must stay false); to run it outside of the "
        "queue, create it again without the label kueue.x-k8s.io/queue-name\n");
}

TEST_CASE("own kinds: the way out of a running job's growth names the path and the value that suspend the kind") {
  CHECK(errors_of(update_of_a_boat(true, 1, true, 2)) ==
        "spec.crew.rowers: Forbidden: this Boat is queued and runs with the quota for the pods that it had: 1 pods "
        "cannot become 2; set spec.sails.set to false in the same request to requeue it\n");
}

}  // namespace own_kinds_test
