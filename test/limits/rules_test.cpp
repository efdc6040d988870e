// The largest object that the API server takes, 3 MiB, of each kind and in each shape that has many
// of something: no review and no conversion of it takes more than a second. CPU time, since a busy
// machine is no fault of a rule.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "mutators/mutator.h"
#include "server/convert_handler.h"
#include "server/review_handler.h"
#include "validators/validator.h"

using namespace muster;

namespace {

constexpr size_t kBytes = 3 * 1024 * 1024 - 4096;
// Of the processor, on a machine with other things to do. On a quiet one all take less than a second.
constexpr double kSeconds = 1;

using Item = std::function<std::string(const std::string& i)>;

// `item(0),item(1),...` of this many bytes.
std::string many(const Item& item, size_t bytes = kBytes) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i) text += (i > 0 ? "," : "") + item(std::to_string(i));
  return text;
}

struct Kind {
  const char *group, *version, *kind, *resource;
};
constexpr Kind kJob{"batch", "v1", "Job", "jobs"};
constexpr Kind kJobSet{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"};
constexpr Kind kWorkload{"kueue.x-k8s.io", "v1beta2", "Workload", "workloads"};
constexpr Kind kClusterQueue{"kueue.x-k8s.io", "v1beta2", "ClusterQueue", "clusterqueues"};
constexpr Kind kLocalQueue{"kueue.x-k8s.io", "v1beta2", "LocalQueue", "localqueues"};
constexpr Kind kCohort{"kueue.x-k8s.io", "v1beta2", "Cohort", "cohorts"};
constexpr Kind kFlavor{"kueue.x-k8s.io", "v1beta2", "ResourceFlavor", "resourceflavors"};
constexpr Kind kCheck{"kueue.x-k8s.io", "v1beta2", "AdmissionCheck", "admissionchecks"};
constexpr Kind kPriority{"kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass", "workloadpriorityclasses"};

struct Shape {
  std::string name;
  Kind kind;
  std::string rest;           // of the object, behind its metadata
  std::string metadata = "";  // what it has beside name and namespace
};

std::string pod(const std::string& fields) {
  return R"({"spec":{"suspend":true,"parallelism":1,"template":{"spec":{"restartPolicy":"Never",)" + fields + "}}}}";
}
std::string job_spec(const std::string& fields) {
  const std::string whole = pod(fields);
  return whole.substr(1, whole.size() - 2);
}
std::string replicated(const std::string& name, const std::string& more = "") {
  return R"({"name":")" + name +
         R"(","replicas":1,"template":{"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}})" + more + "}";
}
std::string pod_set(const std::string& name) {
  return R"({"name":")" + name + R"(","count":1,"template":{"spec":{"containers":[{"name":"c"}]}}})";
}
std::string condition(const std::string& type) {
  return R"({"type":")" + type +
         R"(","status":"True","reason":"R","message":"","lastTransitionTime":"2024-01-01T00:00:00Z"})";
}

std::vector<Shape> job_shapes() {
  const auto containers = [](const std::string& list) { return job_spec("\"containers\":[" + list + "]"); };
  const std::string jobs = many([](auto i) { return replicated("r" + i); }, kBytes / 2);
  return {
      {"containers", kJob,
       containers(many([](auto i) { return R"({"name":"c)" + i + R"(","resources":{"requests":{"cpu":"1"}}})"; }))},
      {"env", kJob,
       containers(R"({"name":"c","env":[)" + many([](auto i) { return R"({"name":"E)" + i + R"(","value":"v"})"; }) +
                  "]}")},
      {"requests", kJob,
       containers(R"({"name":"c","resources":{"requests":{)" + many([](auto i) { return "\"x/r" + i + R"(":"1")"; }) +
                  "}}}")},
      {"tolerations", kJob,
       job_spec(R"("containers":[],"tolerations":[)" + many([](auto i) { return R"({"key":"k)" + i + "\"}"; }) + "]")},
      {"labels", kJob, job_spec("\"containers\":[]"),
       R"(,"annotations":{)" + many([](auto i) { return "\"a" + i + R"(":"v")"; }) + "}"},
      {"replicated jobs", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[)" + many([](auto i) { return replicated("r" + i); }) + "]}"},
      {"replicated jobs without anything", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[)" + many([](auto) { return "{}"; }) + "]}"},
      {"replicated jobs of one name", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[)" + many([](auto) { return replicated("r"); }) + "]}"},
      {"a chain of dependsOn", kJobSet, R"("spec":{"suspend":true,"replicatedJobs":[)" + many([](auto i) {
                                          return replicated("r" + i, R"(,"dependsOn":[{"name":"r)" +
                                                                         std::to_string(std::max(0, std::stoi(i) - 1)) +
                                                                         R"(","status":"Ready"}])");
                                        }) + "]}"},
      {"success policy", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[)" + jobs +
           R"(],"successPolicy":{"operator":"All","targetReplicatedJobs":[)" +
           many([](auto i) { return "\"x" + i + "\""; }, kBytes / 2) + "]}}"},
      {"failure policy", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[)" + jobs + R"(],"failurePolicy":{"rules":[)" +
           many(
               [](auto i) {
                 return R"({"name":"n)" + i + R"(","action":"FailJobSet","targetReplicatedJobs":["r)" + i + "\"]}";
               },
               kBytes / 2) +
           "]}}"},
      {"a gang", kJobSet, R"("spec":{"suspend":true,"groupSchedulingConfig":{},"replicatedJobs":[)" + many([](auto i) {
                            return replicated("r" + i);
                          }) + "]}"},
      {"unknown fields in templates", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[{"name":"r","replicas":1,"template":{"spec":{"template":{"spec":{)" +
           many([](auto i) { return "\"f" + i + "\":1"; }) + "}}}}}]}"},
      {"fields of a wrong type in templates", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[{"name":"r","replicas":1,"template":{"spec":{"template":{"spec":{"containers":[)" +
           many([](auto) { return R"({"name":1,"image":[]})"; }) + "]}}}}}]}"},
      {"two billion replicas", kJobSet,
       R"("spec":{"suspend":true,"replicatedJobs":[{"name":"r","replicas":2147483647,"template":{"spec":{"parallelism":1,"template":{"spec":{"containers":[{"name":"c"}]}}}}}]})"},
  };
}

std::vector<Shape> workload_shapes() {
  const std::string pod_sets =
      R"("spec":{"podSets":[)" + many([](auto i) { return pod_set("p" + i); }, kBytes / 2) + "]}";
  const auto status = [&](const std::string& fields) {
    return pod_sets + R"(,"status":{"conditions":[)" + condition("QuotaReserved") + "]," + fields + "}";
  };
  const auto half = [](const Item& item) { return many(item, kBytes / 2); };
  return {
      {"pod sets", kWorkload, R"("spec":{"podSets":[)" + many([](auto i) { return pod_set("p" + i); }) + "]}"},
      {"conditions", kWorkload,
       R"("spec":{"podSets":[]},"status":{"conditions":[)" + many([](auto i) { return condition("T" + i); }) + "]}"},
      {"admission checks", kWorkload,
       status(R"("admissionChecks":[)" + half([](auto i) {
                return R"({"name":"c)" + i + R"(","state":"Ready","podSetUpdates":[{"name":"p)" + i + R"("}]})";
              }) +
              "]")},
      {"updates of one check", kWorkload,
       status(R"("admissionChecks":[{"name":"c","state":"Ready","podSetUpdates":[)" +
              half([](auto i) { return R"({"name":"x)" + i + "\"}"; }) + "]}]")},
      {"reclaimable pods", kWorkload,
       status(R"("reclaimablePods":[)" + half([](auto i) { return R"({"name":"p)" + i + R"(","count":1})"; }) + "]")},
      {"reclaimable pods of nobody", kWorkload,
       status(R"("reclaimablePods":[)" + half([](auto i) { return R"({"name":"x)" + i + R"(","count":1})"; }) + "]")},
      {"assignments", kWorkload,
       status(R"("admission":{"clusterQueue":"c","podSetAssignments":[)" +
              half([](auto i) { return R"({"name":"p)" + i + R"(","count":1,"resourceUsage":{"cpu":"1"}})"; }) + "]}")},
      {"nominated clusters", kWorkload,
       status(R"("nominatedClusterNames":[)" + half([](auto i) { return "\"c" + i + "\""; }) + "]")},
      {"domains", kWorkload,
       status(
           R"("admission":{"clusterQueue":"c","podSetAssignments":[{"name":"p0","topologyAssignment":{"levels":["l"],"slices":[)" +
           half([](auto i) {
             return R"({"domainCount":1,"podCounts":{"universal":1},"valuesPerLevel":[{"universal":")" + i + "\"}]}";
           }) +
           "]}}]}")},
  };
}

std::vector<Shape> queue_shapes() {
  const auto flavor = [](const std::string& name, const std::string& resource, const std::string& quota) {
    return R"({"name":")" + name + R"(","resources":[{"name":")" + resource + R"(","nominalQuota":")" + quota + "\"}]}";
  };
  const auto flavors = [&](const Item& item) {
    return R"("resourceGroups":[{"coveredResources":["cpu"],"flavors":[)" + many(item) + "]}]";
  };
  const auto groups = many([&](auto i) {
    return R"({"coveredResources":["x/r)" + i + R"("],"flavors":[)" + flavor("f" + i, "x/r" + i, "1") + "]}";
  });
  return {
      {"flavors", kClusterQueue, "\"spec\":{" + flavors([&](auto i) { return flavor("f" + i, "cpu", "1"); }) + "}"},
      {"flavors of one name, below zero", kClusterQueue,
       "\"spec\":{" + flavors([&](auto) { return flavor("f", "cpu", "-1"); }) + "}"},
      {"resource groups", kClusterQueue, R"("spec":{"resourceGroups":[)" + groups + "]}"},
      {"selector", kClusterQueue, R"("spec":{"namespaceSelector":{"matchExpressions":[)" + many([](auto i) {
                                    return R"({"key":"k)" + i + R"(","operator":"In","values":["a"]})";
                                  }) + "]}}"},
      {"checks by flavor", kClusterQueue,
       R"("spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"c","onFlavors":[)" +
           many([](auto i) { return "\"x" + i + "\""; }, kBytes / 3) + "]}]}," +
           R"("resourceGroups":[{"coveredResources":["cpu"],"flavors":[)" +
           many([&](auto i) { return flavor("f" + i, "cpu", "1"); }, kBytes / 2) + "]}]}"},
      {"flavors", kCohort, "\"spec\":{" + flavors([&](auto i) { return flavor("f" + i, "cpu", "1"); }) + "}"},
      {"resource groups", kCohort, R"("spec":{"resourceGroups":[)" + groups + "]}"},
      {"labels", kFlavor, R"("spec":{"nodeLabels":{)" + many([](auto i) { return "\"l" + i + R"(":"v")"; }) + "}}"},
      {"taints", kFlavor, R"("spec":{"nodeTaints":[)" + many([](auto i) {
                            return R"({"key":"k)" + i + R"(","effect":"NoSchedule"})";
                          }) + "]}"},
      {"taints, all the same", kFlavor,
       R"("spec":{"nodeTaints":[)" + many([](auto) { return R"({"key":"k","effect":"X"})"; }) + "]}"},
      {"tolerations", kFlavor, R"("spec":{"tolerations":[)" + many([](auto) { return R"({"operator":"X"})"; }) + "]}"},
      {"conditions", kLocalQueue, R"("spec":{"clusterQueue":"c"},"status":{"conditions":[)" + many([](auto i) {
                                    return condition("T" + i);
                                  }) + "]}"},
      {"conditions", kCheck, R"("spec":{"controllerName":"x"},"status":{"conditions":[)" + many([](auto i) {
                               return condition("T" + i);
                             }) + "]}"},
      {"annotations", kPriority, "\"value\":1",
       R"(,"annotations":{)" + many([](auto i) { return "\"a" + i + R"(":"v")"; }) + "}"},
  };
}

std::string object_of(const Shape& shape, const std::string& label) {
  return R"({"apiVersion":")" + std::string(shape.kind.group) + "/" + shape.kind.version + R"(","kind":")" +
         shape.kind.kind +
         R"(","metadata":{"name":"o","namespace":"a","labels":{"kueue.x-k8s.io/queue-name":"q","changed":")" + label +
         "\"}" + shape.metadata + "}," + shape.rest + "}";
}

std::string review_of(const Shape& shape, bool update) {
  const auto& [group, version, kind, resource] = shape.kind;
  const std::string names = R"("version":")" + std::string(version) + R"(","group":")" + group + "\"";
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":")" +
         std::string(update ? "UPDATE" : "CREATE") + R"(","kind":{)" + names + R"(,"kind":")" + kind +
         R"("},"resource":{)" + names + R"(,"resource":")" + resource +
         R"("},"namespace":"a","name":"o","userInfo":{"username":"x"},"object":)" + object_of(shape, "yes") +
         (update ? ",\"oldObject\":" + object_of(shape, "no") : "") + "}}";
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The handlers as the server has them, with the rules of both JobSet controllers.
class Handlers {
 public:
  // The best of a few tries counts: what else the machine does is not the rules' doing.
  void check_fast(const std::string& path, const std::string& body) const {
    CAPTURE(path);
    double took = kSeconds + 1;
    server::HttpResponse answer;
    for (int tries = 0; tries < 4 && took > kSeconds; ++tries) {
      const double before = cpu_seconds();
      answer = path == "/mutate"     ? reviews_.review(mutators::mutate, path, body)
               : path == "/validate" ? reviews_.review(validators::validate, path, body)
                                     : conversions_.convert(body);
      took = cpu_seconds() - before;
    }
    CHECK(answer.status == 200);
    CHECK(took <= kSeconds);
    // What is refused is not reported a million times; defaults can be written as often as they are missing.
    if (path != "/mutate") CHECK(answer.body.size() < 2 * body.size() + 4096);
  }

 private:
  static std::shared_ptr<const RuleSettings> settings() {
    auto settings = std::make_shared<RuleSettings>();
    settings->jobset_mode = JobSetMode::kNative;
    return settings;
  }
  mutable server::Metrics metrics_{server::MetricsOptions{}};
  const server::ReviewHandler reviews_{[all = settings()] { return all; },
                                       [view = std::make_shared<const ClusterView>()] { return view; }, metrics_};
  const server::ConvertHandler conversions_{metrics_};
};

void check_shapes(const std::vector<Shape>& shapes) {
  const Handlers handlers;
  for (const Shape& shape : shapes) {
    CAPTURE(shape.kind.kind);
    CAPTURE(shape.name);
    for (const bool update : {false, true}) {
      const std::string review = review_of(shape, update);
      handlers.check_fast("/mutate", review);
      handlers.check_fast("/validate", review);
    }
    const bool converted = shape.kind.kind == std::string("Workload") ||
                           shape.kind.kind == std::string("ClusterQueue") || shape.kind.kind == std::string("Cohort") ||
                           shape.kind.kind == std::string("LocalQueue");
    if (!converted) continue;
    handlers.check_fast("/convert",
                        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",)"
                        R"("desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":[)" +
                            object_of(shape, "yes") + "]}}");
  }
}

}  // namespace

TEST_CASE("The largest Jobs and JobSets are reviewed in seconds") {
  check_shapes(job_shapes());
}

TEST_CASE("The largest Workloads are reviewed and converted in seconds") {
  check_shapes(workload_shapes());
}

TEST_CASE("The largest queues, flavors and checks are reviewed and converted in seconds") {
  check_shapes(queue_shapes());
}
