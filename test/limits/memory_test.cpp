// The real binary in a real control group of 256 MiB, under the worst bodies that an unknown client or a tenant can
// send: it must live, answer small reviews at the same time, and give the memory back.
//
// Making a control group takes root; elsewhere the tests are skipped and say so.
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "test/limits/muster_process.h"

using namespace muster::test;
using namespace std::chrono_literals;

namespace {

constexpr size_t kMiB = 1024 * 1024;
constexpr size_t kLimit = 256 * kMiB;

std::string job_review(const std::string& list) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",)"
         R"("kind":{"group":"batch","version":"v1","kind":"Job"},"resource":{"group":"batch","version":"v1",)"
         R"("resource":"jobs"},"namespace":"a","name":"b","userInfo":{"username":"x"},"object":{"apiVersion":)"
         R"("batch/v1","kind":"Job","metadata":{"name":"b","labels":{"kueue.x-k8s.io/queue-name":"q"}},)"
         R"("spec":{"template":{"spec":{"containers":[{"name":"c","image":"i","env":[)" +
         list + "]}]}}}}}}";
}

std::string filled(const std::string& unit, size_t bytes) {
  std::string text = unit;
  while (text.size() + unit.size() + 1 < bytes) text += "," + unit;
  return text;
}

std::string conversion(size_t objects) {
  const std::string workload =
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"name":"a","namespace":"b"},"spec":{},)"
      R"("status":{"admission":{"clusterQueue":"c","podSetAssignments":[{"name":"main","topologyAssignment":{"levels":)"
      R"(["l"],"slices":[{"domainCount":100000,"podCounts":{"universal":1},"valuesPerLevel":[{"universal":"x"}]}]}}]}}})";
  return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",)"
         R"("desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":[)" +
         filled(workload, objects * (workload.size() + 1) + 1) + "]}}";
}

// Two on every worker at once; their statuses.
std::vector<int> send_all(const Muster& muster, const std::string& path, const std::string& body) {
  std::vector<int> statuses(2 * kWorkers, 0);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&, i] {
      TestClient client(muster.port());
      const auto answer = client.exchange(post(path, body));
      statuses[i] = answer ? answer->status : -1;
    });
  }
  threads.clear();
  return statuses;
}

bool answers_small(const Muster& muster) {
  TestClient client(muster.port());
  const auto answer = client.exchange(post("/validate", job_review(R"({"name":"A"})")));
  return answer && answer->status == 200;
}

bool eventually_below(const Muster& muster, size_t bytes) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (muster.bytes("VmRSS") > bytes) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(100ms);
  }
  return true;
}

}  // namespace

TEST_CASE("Two worst bodies on every worker stay inside a container of 256 MiB") {
  const ControlGroup group(kLimit);
  if (!group.usable()) {
    MESSAGE("[skipped] no memory control group can be made here: it takes root and the memory controller");
    return;
  }
  const Muster muster(&group);
  struct Body {
    const char* path;
    std::string text;
    int status;  // 0: whatever it is
  };
  const Body bodies[] = {
      // The largest object that the API server takes, as dense as real ones are: it must pass.
      {"/mutate", job_review(filled(R"({"name":"a"})", 3 * kMiB - 1024)), 200},
      {"/validate", job_review(filled(R"({"name":"A","value":"B"})", 3 * kMiB - 1024)), 200},
      // What only a hostile client sends can be refused, and must do no harm.
      {"/mutate", job_review(filled("{}", 7 * kMiB - 1024)), 0},
      {"/validate", job_review(filled("{}", 7 * kMiB - 1024)), 0},
      {"/mutate", job_review(filled("\"\"", 7 * kMiB - 1024)), 0},
      {"/validate", job_review(filled("[[[[{}]]]]", 7 * kMiB - 1024)), 0},
      {"/convert", conversion(1), 200},
      {"/convert", conversion(20), 200},
      {"/convert", conversion(2000), 200},
      {"/convert",
       R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",)"
       R"("desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":[)" +
           filled("{}", 5 * kMiB) + "]}}",
       0},
  };
  for (const Body& body : bodies) {
    CAPTURE(body.path);
    CAPTURE(body.text.size());
    const std::vector<int> statuses = send_all(muster, body.path, body.text);
    for (const int status : statuses) {
      CHECK(status > 0);
      if (body.status != 0) CHECK(status == body.status);
    }
    REQUIRE(muster.alive());
    CHECK(answers_small(muster));
  }
  MESSAGE("at most " << muster.bytes("VmHWM") / kMiB << " MiB, now " << muster.bytes("VmRSS") / kMiB);
  CHECK(muster.bytes("VmHWM") < kLimit * 9 / 10);
  // Each worker gives back what it had; what is left of the last ones is less than one large review.
  CHECK(eventually_below(muster, kLimit / 2));
}
