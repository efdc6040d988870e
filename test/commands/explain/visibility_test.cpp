// What users with fewer rights get, for every reason of explain: the true one, or that it is not known and what
// they cannot list. Never that a thing is missing which they do not see, and no number that others change.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "api/codec/json.h"
#include "commands/explain/explain_local.h"
#include "commands/explain/explain_text.h"
#include "kinds/watched_kinds.h"
#include "scheduler/decision.h"
#include "test/explain/reason_scenes.h"
#include "test/support/hand_clock.h"

namespace muster::test::visibility_test {
namespace {

enum class Sight { kAll, kNamespace, kNone };

struct Reader {
  std::string name;
  std::function<Sight(const ResourceType&)> sees;
};

bool is_same_right(const ResourceType& a, const ResourceType& b) {
  return a.group == b.group && a.plural == b.plural;
}

// A request for a list of a kind that muster watches.
struct ListRequest {
  const ResourceType* type;
  std::string ns;
};
const std::map<std::pair<std::string, std::string>, ListRequest>& list_requests() {
  static const auto requests = [] {
    std::map<std::pair<std::string, std::string>, ListRequest> made;
    for (const WatchedKind& kind : watched_kinds()) {
      for (const char* ns : {"", kNs}) {
        if (*ns != '\0' && !kind.type->namespaced) continue;
        made.emplace(
            std::pair(kube::collection_path(kube::resource_of(*kind.type), ns), std::string(kind.label_selector)),
            ListRequest{kind.type, ns});
      }
    }
    return made;
  }();
  return requests;
}

// A cluster of a scene, as far as a reader can list it.
class SeenCluster final : public kube::KubeApi {
 public:
  SeenCluster(const ExplainCluster& cluster, const Reader& reader) : cluster_(cluster), reader_(reader) {}

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    std::string selector;
    for (const auto& [name, value] : request.query) {
      if (name == "labelSelector") selector = value;
    }
    const auto found = list_requests().find({request.path, selector});
    if (found == list_requests().end()) return refuse(request);
    const auto& [type, ns] = found->second;
    const Sight sight = reader_.sees(*type);
    if (sight == Sight::kNone || (sight == Sight::kNamespace && ns.empty())) return refuse(request);
    json items = json::array();
    for (json& object : cluster_.objects_of(*type)) {
      if (ns.empty() || string_at(object, {"metadata", "namespace"}) == ns) items.push_back(std::move(object));
    }
    return json{{"kind", "List"}, {"metadata", {{"resourceVersion", "1000"}}}, {"items", items}};
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return fail_with(kube::unanswered(kube::kUnreachableReason, "nothing is streamed here"));
  }

 private:
  static Answer refuse(const kube::KubeRequest& request) {
    return fail_with(kube::StatusError{403, "Forbidden", "you may not list " + request.path, {}, std::nullopt});
  }

  const ExplainCluster& cluster_;
  const Reader& reader_;
};

Sight all(const ResourceType&) {
  return Sight::kAll;
}

// The users. A user of a namespace sees no ClusterQueue and no other namespace; the next one sees the queues as well.
std::vector<Reader> readers(const ResourceType& asked) {
  std::vector<Reader> made = {
      {"of one namespace", [](const ResourceType& type) { return type.namespaced ? Sight::kNamespace : Sight::kNone; }},
      {"of one namespace, and of the queues",
       [](const ResourceType& type) { return type.namespaced ? Sight::kNamespace : Sight::kAll; }},
      {"of nothing but the object",
       [&asked](const ResourceType& type) { return is_same_right(type, asked) ? Sight::kNamespace : Sight::kNone; }}};
  // An administrator without one right.
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const WatchedKind& kind : watched_kinds()) {
    const ResourceType& hidden = *kind.type;
    if (is_same_right(hidden, asked) || !known.emplace(hidden.group, hidden.plural).second) continue;
    made.push_back({"without " + std::string(hidden.plural), [&hidden](const ResourceType& type) {
                      return is_same_right(type, hidden) ? Sight::kNone : Sight::kAll;
                    }});
  }
  return made;
}

// The condition that the leader writes of its decision.
void write_decision(ExplainCluster& cluster) {
  const state::PendingDecision* decision = cluster.decisions.pending_decision_on(kNs, "job-train");
  const auto* refused = decision == nullptr ? nullptr : std::get_if<state::Inadmissible>(decision);
  if (refused == nullptr) return;
  const json written = cluster.condition("QuotaReserved", false, refused->reason, refused->message);
  cluster.edit(kWorkloads, "job-train", [&](json& workload) {
    json conditions = json::array({written});
    for (const json& each : array_at(workload, {"status", "conditions"})) {
      if (each["type"] != "QuotaReserved") conditions.push_back(each);
    }
    workload["status"]["conditions"] = conditions;
  });
}

struct Arranged {
  explicit Arranged(const ExplainRow& scene) : cluster(scene.settings), key{scene.type, kNs, scene.asked()} {
    scene.arrange(cluster);
    cluster.decide();
    write_decision(cluster);
  }

  ExplainCluster cluster;
  ObjectKey key;
};

ExplainReply ask(const Arranged& scene, const ExplainRow& row, const Reader& reader) {
  SeenCluster api(scene.cluster, reader);
  HandClock clock;
  clock.time = scene.cluster.now();
  const auto reply = commands::explain_locally(api, scene.key, row.settings, clock);
  REQUIRE_MESSAGE(reply.ok(), reply.error().message);
  return *reply;
}

template <class Values, class Value>
bool has(const Values& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Less can be shown, in whole sentences.
void check_parts(const std::vector<std::string>& told, const std::vector<std::string>& truth) {
  for (const std::string& part : told) {
    const bool is_true =
        std::any_of(truth.begin(), truth.end(), [&](const std::string& whole) { return whole.starts_with(part); });
    CHECK_MESSAGE(is_true, part);
  }
}

// It is not known, and what would tell is named and indeed unseen.
void check_unknown(const ExplainReply& told, const ExplainReply& truth, const Reader& reader) {
  static const std::regex kHeadline(R"(.* is not known, because you cannot list ([a-z, ]+)\.)");
  std::smatch named;
  REQUIRE_MESSAGE(std::regex_match(told.headline, named, kHeadline), told.headline);
  std::string names = ", " + named[1].str();
  for (size_t at = 0; at != std::string::npos; at = names.find(", ", at + 1)) {
    const std::string name = names.substr(at + 2, names.find(", ", at + 2) - at - 2);
    const bool is_unseen = std::any_of(watched_kinds().begin(), watched_kinds().end(), [&](const WatchedKind& kind) {
      if (name == "workloads of other namespaces" && kind.type == &kWorkloads)
        return reader.sees(kWorkloads) == Sight::kNamespace;
      return kind.type->plural == name && reader.sees(*kind.type) == Sight::kNone;
    });
    CHECK_MESSAGE(is_unseen, name);
  }
  CHECK(told.flavors.empty());
  CHECK(told.others.empty());
  CHECK(told.actions.empty());
  CHECK(told.starts.empty());
  for (const std::string& sentence : told.because) {
    const bool is_written = sentence.starts_with("Its Workload says: Waits (");
    CHECK_MESSAGE((is_written || has(truth.because, sentence)), sentence);
  }
}

void check_true(const ExplainReply& told, const ExplainReply& truth) {
  CHECK(told.reason == truth.reason);
  // Whether the namespace exists can be unseen; that the object is not there is true.
  if (told.reason != "NotFound") CHECK(told.headline == truth.headline);
  check_parts(told.because, truth.because);
  check_parts(told.starts, truth.starts);
  if (told.reason != "NotFound") check_parts(told.change, truth.change);
  for (const ExplainedOthers& others : told.others) CHECK(has(truth.others, others));
  for (const ExplainedFlavor& row : told.flavors) {
    const bool is_true = std::any_of(truth.flavors.begin(), truth.flavors.end(), [&](const ExplainedFlavor& whole) {
      ExplainedFlavor masked = whole;
      if (row.free.empty()) masked.free.clear();
      if (row.verdict.empty()) masked.verdict.clear();
      return row == masked;
    });
    CHECK_MESSAGE(is_true, row.flavor << ": " << row.free << ", " << row.verdict);
  }
}

void check_told(const ExplainReply& told, const ExplainReply& truth, const Reader& reader) {
  if (told.reason == "Unknown")
    check_unknown(told, truth, reader);
  else
    check_true(told, truth);
  if (told.order) CHECK(told.order == truth.order);
  for (const ExplainedFact& fact : told.facts) {
    // The label of the job itself, and a flavor's time without its limit where the ClusterQueue is unseen.
    const bool is_true = std::any_of(truth.facts.begin(), truth.facts.end(), [&](const ExplainedFact& whole) {
      return fact.name == whole.name && whole.value.starts_with(fact.value);
    });
    const bool is_label = fact == ExplainedFact{"LocalQueue", "lq"};
    CHECK_MESSAGE((is_true || is_label), fact.name << ": " << fact.value);
  }
  for (const ExplainedMoment& moment : told.timeline) CHECK(has(truth.timeline, moment));
}

// Objects that only the command reads are no scenes, and a reader who sees all never gets Unknown.
std::set<std::string> reasons_with_scene() {
  std::set<std::string> reasons;
  for (const ExplainReasonRow& row : explain_reason_rows()) {
    if (!row.by_command && !row.open && row.id != ExplainReason::kUnknown) reasons.emplace(row.token);
  }
  return reasons;
}

TEST_CASE("visibility: each reason of explain has a scene, which says it") {
  std::set<std::string> missing = reasons_with_scene();
  CHECK(missing.size() > 40);
  for (const ExplainRow& scene : all_scenes()) missing.erase(scene.reason);
  for (const std::string& reason : missing)
    FAIL_CHECK("no scene for " << reason << ": add it to test/explain/*_scenes.cpp");
}

TEST_CASE("visibility: who may list everything is told the truth by the objects alone") {
  const Reader reader{"of everything", all};
  for (const ExplainRow& row : all_scenes()) {
    INFO(std::string(row.name));
    const ExplainReply told = ask(Arranged(row), row, reader);
    INFO(to_json(told).dump());
    CHECK(told.reason == (row.without_leader == nullptr ? row.reason : row.without_leader));
    CHECK(told.notes ==
          std::vector<std::string>{
              "Evaluated on this machine, from the objects that you can list; muster itself was not asked."});
  }
}

TEST_CASE("visibility: nobody is told that what they cannot see is missing, or a cause that they cannot know") {
  for (const ExplainRow& row : all_scenes()) {
    const Arranged scene(row);
    const ExplainReply truth = ask(scene, row, {"of everything", all});
    for (const Reader& reader : readers(*row.type)) {
      const ExplainReply told = ask(scene, row, reader);
      INFO(std::string(row.name) << ", for a reader " << reader.name << ": " << commands::explain_text(told));
      check_told(told, truth, reader);
    }
  }
}

// Who says "not known" of everything would pass the test above.
TEST_CASE("visibility: what is not needed for a reason may be unseen") {
  std::map<std::string, std::set<std::string>> unknown;
  for (const ExplainRow& row : all_scenes()) {
    const Arranged scene(row);
    for (const Reader& reader : readers(*row.type)) {
      if (ask(scene, row, reader).reason == "Unknown") unknown[reader.name].insert(row.name);
    }
  }
  for (const char* kind : {"services", "persistentvolumeclaims", "customresourcedefinitions", "rayjobs"})
    CHECK(unknown[std::string("without ") + kind].empty());
  CHECK(unknown["without cohorts"] == std::set<std::string>{"the quota of its Cohort is in use"});
  CHECK(unknown["without runtimeclasses"] == std::set<std::string>{"a RuntimeClass adds to its requests"});
  CHECK(unknown["without priorityclasses"] == std::set<std::string>{"the PriorityClass of its pods is missing"});
  CHECK(unknown["without workloadpriorityclasses"] == std::set<std::string>{"its WorkloadPriorityClass is missing"});
}

// A replica sees everything: it hides names.
TEST_CASE("visibility: an answer of muster's names no Workload of another namespace to who cannot list it") {
  size_t hidden = 0;
  for (const ExplainRow& row : all_scenes()) {
    INFO(std::string(row.name));
    ExplainCluster cluster(row.settings);
    row.arrange(cluster);
    cluster.decide();
    const ExplainReply whole = cluster.ask(*row.type, row.asked());
    ExplainReply told = whole;
    hide_names(told, [](const std::string& ns) { return ns == kNs; });
    hide_suggestions(told, [](const ResourceType&) { return false; });
    CHECK(told.reason == whole.reason);
    CHECK(told.headline == whole.headline);
    CHECK(to_json(told).dump().find("team-b") == std::string::npos);
    if (to_json(whole).dump().find("team-b") != std::string::npos) ++hidden;
  }
  CHECK(hidden > 0);
}

}  // namespace
}  // namespace muster::test::visibility_test
