#include "reconcilers/jobset/jobset_child.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_child_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

const json kOwner = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                     {"kind", "JobSet"},
                     {"name", "train"},
                     {"uid", "train-uid"},
                     {"controller", true},
                     {"blockOwnerDeletion", true}};

json first_job(const json& object) {
  const JobSetPtr jobset = read_jobset(object);
  return ChildJobMaker(*jobset, jobset->replicated_jobs.at(0)).make(0);
}

}  // namespace

TEST_CASE("jobset child: it is the JobSet's and otherwise what the template says") {
  json object = train_jobset({{"suspend", true}});
  json& from = object["spec"]["replicatedJobs"][0]["template"];
  from["metadata"] = {{"labels", {{"team", "a"}, {"jobset.sigs.k8s.io/job-index", "mine"}}}, {"name", "ignored"}};
  from["spec"]["backoffLimit"] = 7;
  const json job = first_job(object);
  CHECK(job["metadata"]["ownerReferences"] == json::array({kOwner}));
  CHECK(job["metadata"]["name"] == "train-driver-0");
  CHECK(job["metadata"]["namespace"] == kNs);
  CHECK(job["metadata"]["labels"]["team"] == "a");
  CHECK(job["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"] == "0");
  CHECK(job["spec"]["suspend"] == true);
  CHECK(job["spec"]["backoffLimit"] == 7);
  CHECK(job["spec"]["template"]["spec"]["containers"] ==
        object["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]);
  CHECK(job["spec"]["template"]["metadata"]["labels"].contains("team") == false);
}

TEST_CASE("jobset child: a template may be anything") {
  const json templates[] = {nullptr,
                            json::object(),
                            "text",
                            {{"spec", 3}},
                            {{"spec", {{"template", json::array()}}}},
                            {{"metadata", {{"labels", {{"n", 1}}}}}}};
  for (const json& from : templates) {
    const std::string text = from.dump();
    INFO(text);
    json object = train_jobset();
    object["spec"]["replicatedJobs"][0]["template"] = from;
    const json job = first_job(object);
    CHECK(job["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"] == "train");
    CHECK(job["metadata"]["labels"].contains("n") == false);
  }
}

TEST_CASE("jobset child: the Service is headless and finds the JobSet's pods ready or not") {
  struct Row {
    std::string name;
    json network;
    std::string service;
    bool publishes;
  };
  const Row rows[] = {
      {"named after the JobSet", json::object(), "train", true},
      {"named as the subdomain", {{"subdomain", "trainers"}}, "trainers", true},
      {"of ready pods only", {{"publishNotReadyAddresses", false}}, "train", false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const json service = headless_service(*read_jobset(train_jobset({{"network", row.network}})));
    CHECK(service["metadata"]["name"] == row.service);
    CHECK(service["metadata"]["labels"] == json{{"jobset.sigs.k8s.io/jobset-name", "train"}});
    CHECK(service["metadata"]["ownerReferences"] == json::array({kOwner}));
    CHECK(service["spec"] == json{{"clusterIP", "None"},
                                  {"selector", {{"jobset.sigs.k8s.io/jobset-name", "train"}}},
                                  {"publishNotReadyAddresses", row.publishes}});
  }
}

TEST_CASE("jobset child: the Service has each port of the containers once") {
  const auto port = [](const json& number, const char* name = "", const char* protocol = "") {
    json made = {{"containerPort", number}};
    if (*name) made["name"] = name;
    if (*protocol) made["protocol"] = protocol;
    return made;
  };
  json object = train_jobset();
  const auto pod_spec = [&](int i) -> json& {
    return object["spec"]["replicatedJobs"][i]["template"]["spec"]["template"]["spec"];
  };
  pod_spec(0)["containers"][0]["ports"] = {port(8080, "http"), port(53, "", "UDP"), port(53), port(0), port("x")};
  pod_spec(0)["initContainers"] = {{{"name", "once"}, {"ports", {port(1)}}},
                                   {{"name", "proxy"}, {"restartPolicy", "Always"}, {"ports", {port(9000, "tcp-53")}}}};
  pod_spec(1)["containers"][0]["ports"] = {port(8080, "web", "TCP"), port(8081, "http")};
  CHECK(headless_service(*read_jobset(object))["spec"]["ports"] ==
        json::parse(R"([{"name":"http","port":8080,"protocol":"TCP"},{"name":"udp-53","port":53,"protocol":"UDP"},
                        {"name":"tcp-53","port":53,"protocol":"TCP"},{"name":"tcp-9000","port":9000,"protocol":"TCP"},
                        {"name":"tcp-8081","port":8081,"protocol":"TCP"}])"));

  for (int i = 0; i < 200; ++i) pod_spec(0)["containers"][0]["ports"].push_back(port(10000 + i));
  CHECK(headless_service(*read_jobset(object))["spec"]["ports"].size() == 100);
}

}  // namespace jobset_child_test
