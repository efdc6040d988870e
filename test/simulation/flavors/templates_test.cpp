// Jobs of all kinds that come to another flavor have nothing of the one before: the same pods get the same template.
#include "test/simulation/flavors/world.h"

namespace flavor_templates_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

json toleration(const char* key) {
  return {{"key", key}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
}

// Of flavors whose labels have different keys: what is left of one is not overwritten by the next.
std::vector<json> unlike_flavors(const json& on_demand) {
  std::vector<json> objects = three_flavors(rules_of({{"spot", 5}}), "DeactivateWorkload", 0);
  for (json& object : objects) {
    if (object["kind"] != kResourceFlavors.kind) continue;
    if (object["metadata"]["name"] == "spot") object["spec"]["tolerations"] = json::array({toleration("spot")});
    if (object["metadata"]["name"] == "on-demand") object["spec"] = on_demand;
  }
  return objects;
}

json jobset_of(const json& job) {
  json spec = job["spec"];
  json jobset = {{"apiVersion", kJobSets.api_version}, {"kind", kJobSets.kind}, {"metadata", job["metadata"]}};
  spec.erase("suspend");
  jobset["spec"]["replicatedJobs"] = json::array({{{"name", "w"}, {"replicas", 1}, {"template", {{"spec", spec}}}}});
  return jobset;
}

// What an admission can change of a template.
json placement(const json& job) {
  json found;
  const json& pod_template = object_at(job, {"spec", "template"});
  for (const char* field : {"nodeSelector", "tolerations", "schedulingGates"})
    if (const json* value = find_path(pod_template, {"spec", field}); value != nullptr && !value->empty())
      found[field] = *value;
  return found;
}

}  // namespace

TEST_CASE("flavor templates: after a fallback a Job and a JobSet of the same pods have the same template") {
  const json flavors[] = {
      json::object(), {{"nodeLabels", {{"zone", "b"}}}}, {{"tolerations", json::array({toleration("reserved")})}}};
  for (const json& on_demand : flavors) {
    INFO(on_demand.dump());
    FlavorWorld world(unlike_flavors(on_demand));
    world.sold_out({"spot"});
    json job = queued_job(1, "plain");
    job["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, "60"}};
    job["spec"]["template"]["spec"]["tolerations"] = json::array({toleration("own")});
    json jobset = jobset_of(job);
    jobset["metadata"]["name"] = "set";
    require_done(world.create(job));
    require_done(world.create(jobset));
    INFO(world.report());
    CHECK(world.run_until([&] { return world.complete("plain"); }, 20min));
    CHECK(world.run_until([&] { return world.complete("set-w-0"); }, 20min));
    CHECK(world.tried("plain") == Names{"spot", "on-demand"});
    CHECK(world.tried("set") == Names{"spot", "on-demand"});
    CHECK(placement(world.get(job_key("set-w-0"))) == placement(world.get(job_key("plain"))));
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

}  // namespace flavor_templates_test
