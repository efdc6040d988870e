// muster doctor: what follows from a cause is listed under it.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "commands/moving/moving_commands.h"
#include "test/commands/moving/clinic.h"
#include "test/support/vectors.h"

namespace doctor_causes_test {

using namespace muster;
using namespace muster::commands;
using namespace muster::test::clinic;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// "muster-pod-waits > muster-not-ready, no-leader"
std::string outline(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += (text.empty() ? "" : "; ") + finding.rule;
    for (size_t i = 0; i < finding.consequences.size(); ++i)
      text += (i == 0 ? " > " : ", ") + finding.consequences[i].rule;
  }
  return text;
}

constexpr const char* kAllThatFollows = "muster-not-ready, webhook-without-endpoints, ca-missing, no-leader";

}  // namespace

TEST_CASE("doctor: a cause is one entry, and what follows is under it") {
  struct Row {
    const char* cause;
    std::function<void(Clinic&)> harm;
    const char* remedy;
  };
  const Row rows[] = {
      {"muster-pod-waits", [](Clinic& c) { c.waits("ImagePullBackOff"); }, "push the image there"},
      {"muster-pod-waits", [](Clinic& c) { c.has_no_node("0/1 nodes are available: 1 Insufficient memory."); },
       "add a node"},
      {"muster-pod-waits", [](Clinic& c) { c.waits("CrashLoopBackOff"); }, "kubectl -n muster-system logs muster-a"},
      {"muster-scaled-down", [](Clinic& c) { c.at("Deployment/muster")["spec"]["replicas"] = 0; },
       "kubectl -n muster-system scale"},
      {"definition-missing", [](Clinic& c) { c.objects.erase("CustomResourceDefinition/cohorts.kueue.x-k8s.io"); },
       "kubectl -n muster-system get configmap muster-config"},
      {"right-missing", [](Clinic& c) { c.facts.lacks = {"list workloads.kueue.x-k8s.io"}; },
       "kubectl -n muster-system get configmap muster-config"},
  };
  for (const Row& row : rows) {
    Clinic clinic;
    clinic.never_ran();
    row.harm(clinic);
    std::string follows = kAllThatFollows;
    if (std::string_view(row.cause) == "muster-scaled-down") follows = follows.substr(follows.find(", ") + 2);
    const auto findings = clinic.examine();
    // Both Services, each with its webhooks.
    CHECK(outline(findings).find(row.cause + std::string(" > ")) == 0);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::kBlocker);
    CHECK(findings[0].remedy.starts_with(row.remedy));
    std::set<std::string> rules;
    for (const Finding& next : findings[0].consequences) rules.insert(next.rule);
    std::set<std::string> wanted;
    for (size_t at = 0; at < follows.size();) {
      const size_t end = std::min(follows.find(", ", at), follows.size());
      wanted.insert(follows.substr(at, end - at));
      at = end + 2;
    }
    CHECK(rules == wanted);
    const std::string text = print_findings(findings, FindingFormat::kTable, "");
    CHECK(text.find("->") == text.rfind("->"));
    CHECK(text.find("rollout restart") == std::string::npos);
    CHECK(json::parse(print_findings(findings, FindingFormat::kJson, ""))["findings"][0]["consequences"].size() ==
          findings[0].consequences.size());
  }
}

TEST_CASE(
    "doctor: a failed pull in two pods is one entry, and the scheduler's text is in that of an unschedulable pod") {
  Clinic clinic;
  clinic.never_ran();
  json other = clinic.at("Pod/muster-a");
  other["metadata"]["name"] = "muster-b";
  clinic.put(other);
  clinic.waits("ErrImagePull", "failed to resolve reference: \x1b[31mnot found");
  clinic.waits("ImagePullBackOff", "Back-off", "Pod/muster-b");
  auto findings = clinic.examine();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].objects == std::vector<std::string>{"Pod muster-system/muster-a", "Pod muster-system/muster-b"});
  const std::string text = print_findings(findings, FindingFormat::kTable, "");
  CHECK(text.find("ErrImagePull: failed to resolve reference: \\x1b[31mnot found") != std::string::npos);

  clinic.objects.erase("Pod/muster-b");
  clinic.has_no_node("0/3 nodes are available: 3 node(s) had untolerated taint {a: b}.");
  findings = clinic.examine();
  REQUIRE(findings.size() == 1);
  CHECK(
      findings[0].problem ==
      "the scheduler finds no node for it (Unschedulable: 0/3 nodes are available: 3 node(s) had untolerated taint {a: "
      "b}.)");
  CHECK(findings[0].remedy.find("logs") == std::string::npos);
}

TEST_CASE("doctor: docs/install.md shows what it prints of an image that cannot be pulled") {
  Clinic clinic;
  clinic.never_ran();
  clinic.waits("ImagePullBackOff", "Back-off pulling image \"r/muster:0.1.0\"");
  const std::string page = test::read_source_file("docs/install.md");
  std::istringstream lines(print_findings(clinic.examine(), FindingFormat::kTable, ""));
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(page.find("\n    " + line + "\n") != std::string::npos, line);
}

TEST_CASE("doctor: what does not follow from a cause stays an entry, and while muster serves nothing is hidden") {
  Clinic clinic;
  clinic.never_ran();
  clinic.waits("ErrImagePull");
  clinic.objects.erase("ClusterQueue/cq");
  clinic.at("Workload/w")["metadata"]["deletionTimestamp"] = "2026-06-01T11:00:00Z";
  CHECK(outline(clinic.examine()).ends_with("no-leader; clusterqueue-missing; deletion-stuck"));

  // Rights that a replica does not read with are no reason why none is ready.
  Clinic writes;
  writes.never_ran();
  writes.facts.lacks = {"patch workloads.kueue.x-k8s.io"};
  CHECK(outline(writes.examine()).starts_with("muster-not-ready > "));
  CHECK(outline(writes.examine()).ends_with("no-leader; right-missing"));

  Clinic serves;
  serves.at("Deployment/muster")["status"]["readyReplicas"] = 1;
  serves.waits("ErrImagePull");
  serves.objects.erase("EndpointSlice/muster-webhook");
  serves.objects.erase("Lease/c1f6bfd2.kueue.x-k8s.io");
  CHECK(outline(serves.examine()) == "webhook-without-endpoints; no-leader; muster-pod-waits > muster-not-ready");

  Clinic absent;
  absent.never_ran();
  absent.objects.erase("Deployment/muster");
  absent.objects.erase("Pod/muster-a");
  absent.objects.erase("ValidatingWebhookConfiguration/muster");
  absent.objects.erase("CustomResourceDefinition/cohorts.kueue.x-k8s.io");
  REQUIRE(absent.examine().size() == 1);
  CHECK(absent.examine()[0].rule == "muster-not-installed");
}

TEST_CASE("doctor: causes come in the order pods, Service, webhooks, CA bundles, Lease") {
  Clinic clinic;
  clinic.objects.erase("EndpointSlice/muster-webhook");
  clinic.objects.erase("ValidatingWebhookConfiguration/muster");
  clinic.at("MutatingWebhookConfiguration/muster")["webhooks"][0]["clientConfig"].erase("caBundle");
  clinic.at("Lease/c1f6bfd2.kueue.x-k8s.io")["spec"]["renewTime"] = "2026-06-01T11:50:00.000000Z";
  CHECK(outline(clinic.examine()) == "webhook-without-endpoints; ca-missing; lease-expired; webhooks-missing");
}

}  // namespace doctor_causes_test
