#include "manifests/user_roles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "manifests/catalog.h"

namespace user_roles_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

using Rights = std::set<std::string>;

// "patch clusterqueues": what the roles with a label grant together.
Rights granted_by(const std::string& label) {
  Rights rights;
  for (const json& role : user_roles()) {
    if (!role.at("metadata").at("labels").contains(label)) continue;
    for (const json& rule : role.at("rules")) {
      for (const json& verb : rule.at("verbs"))
        rights.insert(verb.get<std::string>() + " " + rule.at("resources").at(0).get<std::string>());
    }
  }
  return rights;
}

const std::string kWriting[] = {"create", "delete", "deletecollection", "patch", "update"};

}  // namespace

TEST_CASE("user roles: who submits jobs writes jobs alone and reads what explains their wait") {
  const Rights user = granted_by("rbac.kueue.x-k8s.io/batch-user");
  for (const char* kind : {"jobs", "jobsets", "localqueues", "workloads", "workloadpriorityclasses"})
    CHECK_MESSAGE(user.contains("get " + std::string(kind)), kind);
  for (const std::string& verb : kWriting) {
    CHECK(user.contains(verb + " jobs"));
    CHECK(user.contains(verb + " jobsets"));
    for (const char* kind : {"localqueues", "workloads", "workloadpriorityclasses", "clusterqueues", "cohorts"})
      CHECK_FALSE_MESSAGE(user.contains(verb + " " + kind), verb, kind);
  }
}

TEST_CASE("user roles: who submits jobs can submit every kind that muster queues") {
  const Rights user = granted_by("rbac.kueue.x-k8s.io/batch-user"),
               admin = granted_by("rbac.kueue.x-k8s.io/batch-admin");
  // Kubernetes' roles grant its own kinds.
  for (const char* kind :
       {"mpijobs", "pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs", "jaxjobs", "rayjobs", "rayclusters",
        "rayservices", "trainjobs", "appwrappers", "sparkapplications", "leaderworkersets"}) {
    for (const Rights* rights : {&user, &admin}) {
      CHECK_MESSAGE(rights->contains("create " + std::string(kind)), kind);
      CHECK_MESSAGE(rights->contains("watch " + std::string(kind)), kind);
    }
  }
  for (const char* kind : {"pods", "deployments", "statefulsets"})
    CHECK_FALSE_MESSAGE(user.contains("create " + std::string(kind)), kind);
}

TEST_CASE("user roles: who submits jobs reads what is pending in LocalQueues, an administrator in ClusterQueues too") {
  const Rights user = granted_by("rbac.kueue.x-k8s.io/batch-user"),
               admin = granted_by("rbac.kueue.x-k8s.io/batch-admin");
  CHECK(user.contains("get localqueues/pendingworkloads"));
  CHECK_FALSE(user.contains("get clusterqueues/pendingworkloads"));
  CHECK(admin.contains("get localqueues/pendingworkloads"));
  CHECK(admin.contains("get clusterqueues/pendingworkloads"));
  CHECK(granted_by("rbac.authorization.k8s.io/aggregate-to-view").count("get localqueues/pendingworkloads") == 0);
}

TEST_CASE("user roles: an administrator of queues writes every kind") {
  const Rights admin = granted_by("rbac.kueue.x-k8s.io/batch-admin");
  for (const char* kind : {"admissionchecks", "clusterqueues", "cohorts", "jobs", "jobsets", "localqueues",
                           "resourceflavors", "workloads", "workloadpriorityclasses"}) {
    for (const std::string& verb : kWriting) CHECK_MESSAGE(admin.contains(verb + " " + kind), verb, kind);
    CHECK_MESSAGE(admin.contains("watch " + std::string(kind)), kind);
  }
}

TEST_CASE("user roles: the roles of a namespace grant no quota, and nobody a status") {
  CHECK(granted_by("rbac.authorization.k8s.io/aggregate-to-admin").empty());  // it has what edit has
  const Rights edit = granted_by("rbac.authorization.k8s.io/aggregate-to-edit");
  CHECK(edit.contains("create jobsets"));
  for (const std::string& right : edit) CHECK_MESSAGE(right.ends_with(" jobsets"), right);
  const Rights view = granted_by("rbac.authorization.k8s.io/aggregate-to-view");
  CHECK(view == Rights{"create readersessions", "delete readersessions", "get jobsets", "get localqueues",
                       "get workloads", "list jobsets", "list localqueues", "list workloads", "watch jobsets",
                       "watch localqueues", "watch workloads"});
  for (const json& role : user_roles()) {
    const std::string text = role.dump();
    CHECK(text.find("/status") == std::string::npos);
    CHECK(text.find("\"*\"") == std::string::npos);
  }
}

TEST_CASE("user roles: they are part of the manifests, each once, and aggregated ones claim no rules") {
  std::set<std::string> names;
  for (const json& role : user_roles()) {
    const std::string name = role.at("metadata").at("name");
    CHECK_MESSAGE(names.insert(name).second, name);
    CHECK(role.contains("rules") != role.contains("aggregationRule"));
  }
  CHECK(names.size() == 24 + 2 * 13);
  std::set<std::string> printed;
  for (const json& object : manifests::manifests(ManifestSet::kRbac, {}))
    printed.insert(object.at("metadata").at("name"));
  CHECK(std::includes(printed.begin(), printed.end(), names.begin(), names.end()));
}

}  // namespace user_roles_test
