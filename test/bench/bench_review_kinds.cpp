// Whether kinds that an administrator describes make reviews slower: the CPU time of /mutate and /validate for a Job
// and for a PyTorchJob, with the kinds that are built in and with 30 kinds described, in turns. Kinds are never taken
// away in a process, so each turn is a fork of this one.
//
//   bench_review_kinds 5 4000 1.25      rounds, reviews in each, exit code 1 above this ratio of a p99
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "kinds/kind_registry.h"
#include "mutators/mutator.h"
#include "server/review_handler.h"
#include "test/bench/sample_review.h"
#include "validators/validator.h"

using namespace muster;
using nlohmann::json;

namespace {

constexpr size_t kDescribed = 30;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Until 30 kinds are described, those that are built in included.
bool describe_kinds(RuleSettings& settings) {
  std::vector<KindDescriptionPtr> own;
  for (size_t i = described_kinds().size(); i < kDescribed; ++i) {
    const std::string name = "train" + std::to_string(i);
    const auto kind = read_kind_description({{"apiVersion", kJobKindApiVersion},
                                             {"kind", kJobKindKind},
                                             {"framework", "example.com/" + name},
                                             {"group", "example.com"},
                                             {"version", "v1"},
                                             {"kindName", "Train" + std::to_string(i)},
                                             {"resource", name + "s"},
                                             {"suspend", "spec.suspend"},
                                             {"podSets", {{{"name", "main"}, {"path", "spec.main"}}}},
                                             {"active", {{"path", "status.running"}, {"nonzero", true}}},
                                             {"ready", {{"condition", "Ready"}}},
                                             {"ends", {{{"condition", "Arrived"}, {"success", true}}}}});
    if (!kind) return false;
    own.push_back(*kind);
    settings.frameworks.insert("example.com/" + name);
  }
  const auto kinds = KindRegistry::with(own);
  if (kinds) jobs::register_kinds(*kinds);
  return kinds.ok();
}

std::string pytorch_review() {
  json review = json::parse(bench::sample_review(5000));
  json& request = review["request"];
  json& object = request["object"];
  const json pod_template = object["spec"]["template"];
  request["kind"] = {{"group", "kubeflow.org"}, {"version", "v1"}, {"kind", "PyTorchJob"}};
  request["resource"] = {{"group", "kubeflow.org"}, {"version", "v1"}, {"resource", "pytorchjobs"}};
  request["requestKind"] = request["kind"];
  request["requestResource"] = request["resource"];
  object["apiVersion"] = "kubeflow.org/v1";
  object["kind"] = "PyTorchJob";
  object["spec"] = {{"runPolicy", {{"suspend", false}}},
                    {"pytorchReplicaSpecs", {{"Worker", {{"replicas", 3}, {"template", pod_template}}}}}};
  return review.dump();
}

// p50 and p99 of both webhooks for a review, in µs; zeros: the job was not suspended, so something else was measured.
std::array<double, 2> measured(const server::ReviewHandler& handler, const std::string& body, size_t reviews) {
  if (handler.review(mutators::mutate, "/mutate", body).body.find("\"patch\"") == std::string::npos) return {};
  std::vector<double> taken;
  for (size_t i = 0; i < reviews + reviews / 10; ++i) {
    const double before = cpu_seconds();
    const auto mutated = handler.review(mutators::mutate, "/mutate", body);
    const auto validated = handler.review(validators::validate, "/validate", body);
    // The first ones warm the caches.
    if (i >= reviews / 10) taken.push_back((cpu_seconds() - before) * 1e6);
  }
  std::sort(taken.begin(), taken.end());
  return {taken[taken.size() / 2], taken[taken.size() * 99 / 100]};
}

// p50 and p99 for a Job, then for a PyTorchJob.
using Turn = std::array<double, 4>;

bool take_turn(bool with_more, size_t reviews, Turn& turn) {
  auto settings = std::make_shared<RuleSettings>();
  settings->frameworks.insert("kubeflow.org/pytorchjob");
  if (with_more && !describe_kinds(*settings)) return false;
  ClusterView view;
  view.put(json::parse(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})"));
  server::MetricsOptions options;
  options.rules = server::all_rule_names();
  server::Metrics metrics(std::move(options));
  const std::shared_ptr<const RuleSettings> shared_settings = settings;
  const ClusterViewPtr shared_view(&view, [](const ClusterView*) {});
  const server::ReviewHandler handler([&] { return shared_settings; }, [&] { return shared_view; }, metrics);
  const auto job = measured(handler, bench::sample_review(5000), reviews);
  const auto pytorch = measured(handler, pytorch_review(), reviews);
  turn = {job[0], job[1], pytorch[0], pytorch[1]};
  return job[0] > 0 && pytorch[0] > 0;
}

bool forked_turn(bool with_more, size_t reviews, Turn& turn) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const bool sent = take_turn(with_more, reviews, turn) && write(ends[1], &turn, sizeof turn) == sizeof turn;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  const bool received = child > 0 && read(ends[0], &turn, sizeof turn) == sizeof turn;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return received;
}

double median(const std::vector<Turn>& turns, size_t column) {
  std::vector<double> values;
  for (const Turn& turn : turns) values.push_back(turn[column]);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const auto reviews = static_cast<size_t>(argc > 2 ? std::atoi(argv[2]) : 4000);
  const double most = argc > 3 ? std::atof(argv[3]) : 1.25;
  if (rounds < 1 || reviews < 100) return 2;
  std::vector<Turn> built_in, described;
  for (int round = 0; round < rounds; ++round) {
    if (!forked_turn(false, reviews, built_in.emplace_back()) || !forked_turn(true, reviews, described.emplace_back()))
      return 2;
  }
  std::printf("| review of 5 kB, both webhooks, CPU | built in (%zu) | described (%zu) | ratio |\n|---|---|---|---|\n",
              described_kinds().size(), kDescribed);
  bool within = true;
  const std::array<const char*, 4> names = {"Job, p50", "Job, p99", "PyTorchJob, p50", "PyTorchJob, p99"};
  for (size_t i = 0; i < names.size(); ++i) {
    const double ratio = median(described, i) / median(built_in, i);
    std::printf("| %s | %.1f µs | %.1f µs | %.2f |\n", names[i], median(built_in, i), median(described, i), ratio);
    if (i % 2 == 1 && ratio > most) within = false;
  }
  return within ? 0 : 1;
}
