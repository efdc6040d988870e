#include "runtime/policy_binding.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/kube/virtual_time.h"

namespace policy_binding_test {

using namespace muster;
using namespace muster::runtime;
using nlohmann::json;

namespace {

// An API server that holds a binding, or none, and is ill for some requests first.
class BindingApi final : public kube::KubeApi {
 public:
  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    ++requests;
    CHECK(request.path ==
          "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/muster-unqueued-kinds");
    if (ill-- > 0) return fail_with(kube::StatusError{503, "ServiceUnavailable", "ill", {}, std::nullopt, ""});
    if (binding.is_null()) return fail_with(kube::StatusError{404, "NotFound", "none", {}, std::nullopt, "it"});
    if (request.method == "PATCH") {
      ++patches;
      binding.merge_patch(json::parse(request.body));
    }
    return binding;
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return Done{};
  }

  json binding = {{"metadata", {{"resourceVersion", "7"}}}, {"spec", {{"validationActions", {"Warn", "Audit"}}}}};
  int ill = 0, requests = 0, patches = 0;
};

}  // namespace

TEST_CASE("policy binding: it acts as configured after the start and stays as it is where nobody says how") {
  struct Row {
    const char* name;
    std::optional<UnqueuedKinds> wanted;
    json actions;
    PolicyBindingState state;
  };
  const Row rows[] = {
      {"nothing is configured", std::nullopt, {"Warn", "Audit"}, PolicyBindingState::kAsWanted},
      {"as it is", UnqueuedKinds::kWarn, {"Warn", "Audit"}, PolicyBindingState::kAsWanted},
      {"otherwise", UnqueuedKinds::kDeny, {"Deny"}, PolicyBindingState::kChanged},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    BindingApi api;
    const auto state = keep_policy_binding(api, {row.wanted, {}});
    REQUIRE(state.ok());
    CHECK(*state == row.state);
    CHECK(api.binding["spec"]["validationActions"] == row.actions);
    CHECK(api.patches == (row.state == PolicyBindingState::kChanged ? 1 : 0));
  }
  BindingApi none;
  none.binding = nullptr;
  const auto state = keep_policy_binding(none, {UnqueuedKinds::kDeny, {}});
  REQUIRE(state.ok());
  CHECK(*state == PolicyBindingState::kMissing);
}

TEST_CASE("policy binding: external frameworks are passed over from the start on, and no more once none is left") {
  BindingApi api;
  const auto first = keep_policy_binding(api, {std::nullopt, {"RayJob.v1.ray.io"}});
  REQUIRE(first.ok());
  CHECK(*first == PolicyBindingState::kChanged);
  CHECK(api.binding.at("/spec/matchResources/excludeResourceRules/0/resources/0"_json_pointer) == "rayjobs");
  CHECK(api.binding["spec"]["validationActions"] == json{"Warn", "Audit"});
  REQUIRE(keep_policy_binding(api, {std::nullopt, {"RayJob.v1.ray.io"}}).ok());
  CHECK(api.patches == 1);
  REQUIRE(keep_policy_binding(api, {std::nullopt, {}}).ok());
  CHECK(api.patches == 2);
  CHECK_FALSE(api.binding["spec"].contains("matchResources"));
}

TEST_CASE("policy binding: an ill API server is asked again until it answers") {
  kube::test::VirtualTime time;
  BindingApi api;
  api.ill = 4;
  settle_policy_binding(api, {UnqueuedKinds::kDeny, {}}, time.timing(), {});
  CHECK(api.binding["spec"]["validationActions"] == json{"Deny"});
  std::stop_source stopped;
  stopped.request_stop();
  const int before = api.requests;
  settle_policy_binding(api, {UnqueuedKinds::kDeny, {}}, time.timing(), stopped.get_token());
  CHECK(api.requests == before);
}

}  // namespace policy_binding_test
