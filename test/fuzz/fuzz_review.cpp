// Whole AdmissionReviews: whatever the bytes, the answer is a refusal with a sentence, or
// a review that every rule survives, whose answer carries its uid, and whose patch,
// applied and reviewed again, has nothing left to change.
#include <string>

#include "api/codec/json.h"
#include "api/review/admission_review.h"
#include "api/review/cluster_view.h"
#include "mutators/mutator.h"
#include "test/fuzz/require.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

// Namespace team-a has a default LocalQueue; default is a plain one.
const ClusterView& view() {
  static const ClusterView kView = [] {
    ClusterView view;
    const auto put = [&view](const char* text) { view.put(json::parse(text)); };
    put(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})");
    put(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})");
    put(R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
            "metadata": {"name": "default", "namespace": "team-a"}, "spec": {"clusterQueue": "cq"}})");
    return view;
  }();
  return kView;
}

void check_answer(const AdmissionRequest& request, const AdmissionResponse& response) {
  const auto answer = parse_json(response.encode());
  REQUIRE_THAT(answer.ok());
  REQUIRE_THAT(string_at(*answer, {"response", "uid"}) == request.uid);
  REQUIRE_THAT(response.is_allowed() || !response.message().empty());
}

void check_rules(const AdmissionRequest& request, const RuleSettings& settings) {
  const Review review{request, view(), settings};
  check_answer(request, validators::validate(review));
  const AdmissionResponse mutated = mutators::mutate(review);
  check_answer(request, mutated);
  if (!mutated.is_allowed() || mutated.patch().empty()) return;

  AdmissionRequest again = request;
  again.object = request.object.patch(mutated.patch());
  const AdmissionResponse second = mutators::mutate(Review{again, view(), settings});
  REQUIRE_THAT(second.is_allowed());
  REQUIRE_THAT(second.patch().empty());
}

void check(std::string_view body) {
  const auto request = decode_review(body);
  if (!request) {
    REQUIRE_THAT(!request.error().message.empty());
    REQUIRE_THAT(request.error().http_status >= 400 && request.error().http_status < 500);
    return;
  }
  REQUIRE_THAT(!request->uid.empty());
  static const RuleSettings kQuiet;
  static const RuleSettings kManageAll = [] {
    RuleSettings settings;
    settings.manage_jobs_without_queue_name = true;
    return settings;
  }();
  static const RuleSettings kNative = [] {
    RuleSettings settings;
    settings.jobset_mode = JobSetMode::kNative;
    settings.jobset_feature_gates = {
        {"ElasticJobSet", true}, {"InPlaceRestart", true}, {"JobSetActiveDeadlineSeconds", true}, {"RestartJob", true}};
    return settings;
  }();
  check_rules(*request, kQuiet);
  check_rules(*request, kManageAll);
  check_rules(*request, kNative);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
