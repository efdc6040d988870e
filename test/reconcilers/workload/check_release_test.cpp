// What a controller of admission checks has made goes when its check is not asked any more; and what it knows of kinds
// that the cluster does not have.
#include <doctest/doctest.h>

#include <array>
#include <set>

#include "reconcilers/checks/check_answers.h"
#include "test/support/reconciled_cluster.h"

namespace check_release_test {

using namespace muster;
using namespace muster::test;
using reconcilers::CheckContext;
using reconcilers::CheckController;
using reconcilers::Plan;
using reconcilers::Verb;

namespace {

constexpr std::string_view kBookings = "example.com/bookings";

ObjectKey booking_of(const Workload& workload) {
  return {&kConfigMaps, workload.meta.ns, "booking-" + workload.meta.name};
}

bool is_booked(const CheckContext& context) {
  return context.state.find(kConfigMaps, context.workload.meta.ns, booking_of(context.workload).name) != nullptr;
}

// Makes a ConfigMap for each Workload that asks.
constexpr CheckController kBooker = {
    .name = kBookings,
    .active = [](const reconcilers::ReconcileContext& context, const AdmissionCheck&) -> reconcilers::CheckActive {
      if (context.serves(kJobSets)) return {};
      return {.active = false, .reason = "NotServed", .message = "this cluster has no JobSets"};
    },
    .judge = [](const CheckContext& context, const AdmissionCheck&, Plan& plan) -> reconcilers::CheckVerdict {
      if (!is_booked(context)) plan.writes.push_back({.verb = Verb::kCreate, .target = booking_of(context.workload)});
      return {.state = kCheckPending, .message = "waits"};
    },
    .release =
        [](const CheckContext& context, const AdmissionCheck&, Plan& plan) {
          if (is_booked(context))
            plan.writes.push_back({.verb = Verb::kDelete, .target = booking_of(context.workload)});
        },
    .explain = [](const CheckContext&, const AdmissionCheck&) { return std::string("waits"); }};
constexpr std::array<const CheckController*, 1> kControllers = {&kBooker};

class BookedCluster : public ReconciledCluster {
 public:
  BookedCluster() : ReconciledCluster({&reconcilers::check_answers_reconciler}) {
    check_controllers = kControllers;
    put(kAdmissionChecks, "check",
        {{"spec", {{"controllerName", kBookings}}},
         {"status", {{"conditions", json::array({{{"type", "Active"}, {"status", "True"}}})}}}});
  }
  void put_workload(const json& changes) {
    json workload = {
        {"spec", {{"queueName", "lq"}, {"active", true}}},
        {"status",
         {{"admission", {{"clusterQueue", "cq"}}},
          {"conditions", json::array({{{"type", "QuotaReserved"}, {"status", "True"}, {"reason", "x"}}})},
          {"admissionChecks", json::array({{{"name", "check"}, {"state", "Pending"}, {"message", "waits"}}})}}}};
    workload.merge_patch(changes);
    put(kWorkloads, "wl", workload);
  }
  Texts planned() const { return texts(reconcile(key(kWorkloads, "wl"))); }
};

json with_condition(const char* type) {
  return {{"status",
           {{"conditions", json::array({{{"type", "QuotaReserved"}, {"status", "True"}, {"reason", "x"}},
                                        {{"type", type}, {"status", "True"}, {"reason", "x"}}})}}}};
}

}  // namespace

TEST_CASE("check release: what a check has made goes when the Workload does not ask it any more") {
  struct Row {
    const char* name;
    json changes;
    bool asks;
  };
  const std::vector<Row> rows = {
      {"it asks", json::object(), true},
      {"it is evicted", with_condition("Evicted"), false},
      {"it has ended", with_condition("Finished"), false},
      {"it is inactive", {{"spec", {{"active", false}}}}, false},
      {"it has no quota", {{"status", {{"admission", nullptr}, {"conditions", json::array()}}}}, false},
      {"its ClusterQueue has another check",
       {{"status", {{"admissionChecks", json::array({{{"name", "other"}, {"state", "Pending"}}})}}}},
       false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    BookedCluster cluster;
    cluster.put_workload(row.changes);
    CHECK(cluster.planned() == (row.asks ? Texts{"create configmaps/booking-wl"} : Texts{}));
    cluster.put(kConfigMaps, "booking-wl", json::object());
    CHECK(cluster.planned() == (row.asks ? Texts{} : Texts{"delete configmaps/booking-wl"}));
  }
}

TEST_CASE("check release: a check is inactive in a cluster without the kind that it needs") {
  BookedCluster cluster;
  const auto message_with = [&](const std::set<KindId>& absent) {
    reconcilers::ReconcileContext context = cluster.context();
    context.absent_kinds = &absent;
    return kBooker.active(context, *cluster.state.find<AdmissionCheck>("check")).message;
  };
  CHECK(message_with({}) == "The admission check is active");
  CHECK(message_with({kJobSets.id()}) == "this cluster has no JobSets");
}

}  // namespace check_release_test
