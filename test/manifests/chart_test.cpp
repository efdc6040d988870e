#include "manifests/chart.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "kinds/kind_description.h"
#include "manifests/catalog.h"
#include "manifests/rbac.h"
#include "test/support/vectors.h"

namespace chart_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

using Rights = std::set<std::string>;

// One for each group, resource, verb and name.
void add_rights(const json& rules, Rights& rights) {
  for (const json& rule : rules) {
    for (const json& group : rule.at("apiGroups")) {
      for (const json& resource : rule.at("resources")) {
        for (const json& verb : rule.at("verbs")) {
          for (const json& name : rule.value("resourceNames", json{""}))
            rights.insert(group.dump() + resource.dump() + verb.dump() + name.dump());
        }
      }
    }
  }
}

struct Setting {
  std::string name;
  bool RightsOptions::*flag;
};
const Setting kSettings[] = {{"keepsPolicy", &RightsOptions::keeps_policy},
                             {"patchesJobSetDefinition", &RightsOptions::patches_jobset_definition},
                             {"writesCohorts", &RightsOptions::writes_cohorts},
                             {"readsEvents", &RightsOptions::reads_events},
                             {"watchesNodes", &RightsOptions::watches_nodes}};

Rights rights_of(const RightsOptions& options) {
  Rights rights;
  for (const json& object : rbac_objects("muster-system", options)) {
    if (object.at("kind") == "ClusterRole" && object.at("metadata").at("name") == "muster")
      add_rights(object.at("rules"), rights);
  }
  return rights;
}

void check_mode(const json& tables, const std::string& mode, RightsOptions options) {
  // Every choice of the settings.
  for (unsigned choice = 0; choice < 64; ++choice) {
    Rights chosen;
    add_rights(tables.at("clusterRules").at(mode), chosen);
    for (size_t i = 0; i < std::size(kSettings); ++i) {
      const bool on = (choice >> i) % 2 == 1;
      options.*kSettings[i].flag = on;
      if (on) add_rights(tables.at("furtherRules").at(mode).at(kSettings[i].name), chosen);
    }
    const bool queues_pods = choice >= 32;
    if (queues_pods) {
      options.frameworks.insert("pod");
      add_rights(tables.at("furtherRules").at(mode).at("queuesPods"), chosen);
    }
    INFO(mode, " ", choice);
    CHECK(chosen == rights_of(options));
  }
}

}  // namespace

TEST_CASE("chart: the tables in manifests/charts/muster are those of the binary") {
  INFO("if the change is wanted: build/muster manifests --only chart > manifests/charts/muster/files/tables.yaml");
  CHECK(test::read_source_file("manifests/charts/muster/files/tables.yaml") == print_yaml({chart_tables()}));
}

TEST_CASE("chart: muster's rights are those of muster manifests, in every mode and with every setting") {
  const json tables = chart_tables();
  for (const bool groups : {true, false}) {
    const std::string suffix = groups ? "" : "-without-groups";
    RightsOptions options;
    options.group_scheduling = groups;
    for (const KindDescriptionPtr& kind : described_kinds()) options.frameworks.insert(kind->framework);
    for (const char* serving : {"deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset"})
      options.frameworks.insert(serving);
    check_mode(tables, "auto" + suffix, options);
    options.external_jobsets = false;
    check_mode(tables, "native" + suffix, options);
    options.external_jobsets = true;
    options.native_jobsets = false;
    check_mode(tables, "external" + suffix, options);
  }
}

// The templates know by it what to leave out: manifests/charts/muster/templates/_helpers.tpl.
TEST_CASE("chart: what belongs to the integration of a described kind is named in its tables") {
  const json tables = chart_tables();
  for (const KindDescriptionPtr& kind : described_kinds())
    CHECK(tables.at("describedResources").at(kind->group + "/" + kind->plural) == kind->framework);
  CHECK(tables.at("describedResources").at("trainer.kubeflow.org/trainingruntimes") == "trainer.kubeflow.org/trainjob");
  CHECK(tables.at("describedResources").at("apps/statefulsets") == "statefulset");
  Rights all, usual;
  add_rights(tables.at("clusterRules").at("auto"), all);
  RightsOptions options;
  options.patches_jobset_definition = false;
  usual = rights_of(options);
  for (const std::string& right : usual) all.erase(right);
  for (const std::string& right : all) {
    bool named = false;
    for (const auto& [resource, framework] : tables.at("describedResources").items()) {
      const std::string group = resource.substr(0, resource.find('/')),
                        plural = resource.substr(resource.find('/') + 1);
      named = named || right.starts_with(json(group).dump() + "\"" + plural);
    }
    INFO(right);
    CHECK(named);
  }
}

TEST_CASE("chart: the namespace is a placeholder everywhere, and braces are left to the templates") {
  const std::string text = chart_tables().dump();
  CHECK(text.find("muster-system") == std::string::npos);
  CHECK(text.find("{{") == std::string::npos);
  CHECK(text.find(kChartNamespace) != std::string::npos);
}

TEST_CASE("chart: its version and that of muster are the release's") {
  const json chart = read_yaml(test::read_source_file("manifests/charts/muster/Chart.yaml"))->at(0).value;
  CHECK(chart.at("version") == chart.at("appVersion"));
  const std::string cmake = test::read_source_file("CMakeLists.txt");
  CHECK(cmake.find("project(muster VERSION " + chart.at("appVersion").get<std::string>() + " ") != std::string::npos);
}

TEST_CASE("chart: the schema of the values knows every value and refuses others") {
  const json values = read_yaml(test::read_source_file("manifests/charts/muster/values.yaml"))->at(0).value;
  const json schema = json::parse(test::read_source_file("manifests/charts/muster/values.schema.json"));
  CHECK(schema.at("additionalProperties") == false);
  std::set<std::string> known, given;
  for (const auto& property : schema.at("properties").items()) known.insert(property.key());
  for (const auto& value : values.items()) given.insert(value.key());
  given.insert("global");  // of Helm
  CHECK(known == given);
}

}  // namespace chart_test
