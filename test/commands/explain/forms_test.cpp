// Each kind that users can name, by each form in which they name it.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/ascii.h"
#include "commands/dashboard/page_requests.h"
#include "commands/explain/explain.h"
#include "commands/explain/fetch_explanation.h"
#include "commands/explain/named_object.h"
#include "commands/kubectl/completion.h"
#include "commands/kubectl/workload_names.h"
#include "jobs/naming/named_kind.h"

namespace muster::commands::forms_test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

// An API server with objects by their path.
class Objects final : public kube::KubeApi {
 public:
  std::map<std::string, json> objects;
  std::set<std::string> forbidden;
  std::vector<std::string> asked;

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    asked.push_back(request.path);
    if (forbidden.contains(request.path)) return fail_with(refusal(403, "Forbidden"));
    const auto found = objects.find(request.path);
    if (found == objects.end()) return fail_with(refusal(404, "NotFound"));
    return found->second;
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest&, const ByteSink&, std::stop_token) override {
    return Done{};
  }
  void put(const ResourceType& type, const std::string& name, const json& owner = json()) {
    json object = {{"metadata", {{"name", name}}}};
    if (!owner.is_null()) object["metadata"]["ownerReferences"] = json::array({owner});
    objects[path_of(type, name)] = object;
  }
  static std::string path_of(const ResourceType& type, const std::string& name) {
    return kube::collection_path(kube::resource_of(type), "team-a") + "/" + name;
  }

 private:
  static kube::StatusError refusal(int code, const std::string& reason) {
    return {code, reason, "the server says " + reason, {}, std::nullopt, "x"};
  }
};

json owned_by(const char* kind, const char* name) {
  return {{"apiVersion", "x/v1"}, {"kind", kind}, {"name", name}, {"uid", "u"}, {"controller", true}};
}

class Page final : public PageSource {
 public:
  Result<FetchedList> list(const ListQuestion&) override { return fail("no lists"); }
  Result<json> explain(const ObjectKey& key) override {
    explained.push_back(key);
    return json::object();
  }
  std::vector<ObjectKey> explained;
};

struct Completer {
  CLI::App app;
  ExplainOptions explain, history, priority;
  std::vector<std::string> asked;

  Completer() {
    add_explain(app, explain);
    add_history(app, history);
    add_priority(app, priority);
  }
  std::string operator()(const Words& words) {
    const ClusterNames names{.of_kind =
                                 [this](const ResourceType& type, const Words&) {
                                   asked.emplace_back(type.kind);
                                   return Words{"train", "test"};
                                 },
                             .of_jobs =
                                 [](const Words&) {
                                   return Words{"s1-hold", "s1-hold"};
                                 },
                             .of_resources = [](const Words&) { return Words{}; }};
    return complete(app, words, names);
  }
};

TEST_CASE("forms: each kind is named by KIND/NAME, KIND NAME, its plural, its group, and on the page") {
  for (const jobs::NamedKind& kind : jobs::named_kinds()) {
    const std::string singular = kind.singular(), plural(kind.type->plural), group(kind.type->group);
    Words words = {singular, plural, std::string(kind.type->kind)};
    if (!group.empty()) words.insert(words.end(), {singular + "." + group, plural + "." + group});
    for (const std::string& word : words) {
      INFO(word);
      for (const Words& form : {Words{word, "train"}, Words{word + "/train"}}) {
        const auto named = read_named_object(form);
        REQUIRE(named.ok());
        CHECK(named->type == kind.type);
        CHECK(named->name == "train");
      }
      Page page;
      const PageAnswer answer = answer_page_request({.method = "GET",
                                                     .path = "/0a/api/explain",
                                                     .query = "kind=" + word + "&namespace=team-a&name=train",
                                                     .host = "127.0.0.1:8001",
                                                     .origin = ""},
                                                    {.token = "0a", .port = 8001, .ns = {}, .server = {}}, page);
      CHECK(answer.status == 200);
      REQUIRE(page.explained.size() == 1);
      CHECK(page.explained[0].type == kind.type);
    }
  }
}

TEST_CASE("forms: a name alone is of the kind that has such an object, which may be any of the table") {
  for (const jobs::NamedKind& kind : jobs::named_kinds()) {
    INFO(kind.singular());
    Objects api;
    api.put(*kind.type, "train");
    const std::vector<ObjectKey> found = find_kinds_of(api, "team-a", "train");
    REQUIRE(found.size() == 1);
    CHECK(found[0].type == kind.type);
    CHECK(api.asked.back() == Objects::path_of(*kind.type, "train"));
  }
  CHECK(read_named_object({"train"})->type == nullptr);
}

TEST_CASE("forms: a name alone means the job and not the part that has its name") {
  Objects api;
  const jobs::NamedKind ray = *jobs::find_named_kind("rayjob");
  api.put(kJobs, "tune", owned_by("RayJob", "tune"));
  api.put(*ray.type, "tune");
  CHECK(find_kinds_of(api, "team-a", "tune") == std::vector<ObjectKey>{{ray.type, "team-a", "tune"}});
  // Without the whole, the part; and an owner of a kind that muster does not know is no reason to look further.
  api.objects.erase(Objects::path_of(*ray.type, "tune"));
  CHECK(find_kinds_of(api, "team-a", "tune") == std::vector<ObjectKey>{{&kJobs, "team-a", "tune"}});
  api.put(kJobs, "tune", owned_by("Workflow", "w"));
  api.asked.clear();
  CHECK(find_kinds_of(api, "team-a", "tune").size() == 1);
  CHECK(api.asked.size() == 1);
}

TEST_CASE("forms: a name alone of something that is gone or cannot be read is asked of muster") {
  Objects api;
  api.put(kJobs, "train");
  api.forbidden.insert(Objects::path_of(kJobs, "train"));
  const std::vector<ObjectKey> expected = {
      {&kJobs, "team-a", "train"}, {&kJobSets, "team-a", "train"}, {&kWorkloads, "team-a", "train"}};
  CHECK(find_kinds_of(api, "team-a", "train") == expected);
}

TEST_CASE("forms: wrong words are refused with the kinds that there are") {
  struct Row {
    Words words;
    const char* says;
  };
  for (const Row& row : {Row{{"secret/train"}, "muster knows no kind \"secret\"; the kinds are job, jobset, workload"},
                         Row{{"jbo", "train"}, "did you mean \"job\"?"}, Row{{"/train"}, "is not KIND/NAME"},
                         Row{{"job/"}, "no object can be named"}, Row{{"job", "a/b"}, "no object can be named"},
                         Row{{"job/a/b"}, "no object can be named"}, Row{{"job", "a", "b"}, "and not 3 words"},
                         Row{{"job/\x1b[2J"}, "no object can be named"}}) {
    INFO(row.words[0]);
    const auto named = read_named_object(row.words);
    REQUIRE_FALSE(named.ok());
    CHECK(named.error().message.find(row.says) != std::string::npos);
  }
}

TEST_CASE("forms: completion of explain, history and priority by each form of each kind") {
  for (const char* command : {"explain", "history", "priority"}) {
    for (const jobs::NamedKind& kind : jobs::named_kinds()) {
      const std::string word = kind.singular();
      INFO(word);
      Completer completer;
      CHECK(completer({command, word, "t"}) == "test\ntrain\n:4\n");
      CHECK(completer({command, word + "/tr"}) == word + "/train\n:4\n");
      CHECK(completer({command, std::string(kind.type->plural) + "/"}) ==
            std::string(kind.type->plural) + "/test\n" + std::string(kind.type->plural) + "/train\n:4\n");
      for (const std::string& asked : completer.asked) CHECK(asked == kind.type->kind);
      CHECK(completer({command, word}).find(word + "\n") != std::string::npos);
    }
    Completer completer;
    CHECK(completer({command, "s1"}) == "s1-hold\n:4\n");
    CHECK(completer({command, "secret/"}) == ":4\n");
    CHECK(completer({command, "job", "train", ""}) == ":4\n");
  }
}

TEST_CASE("forms: help names every kind of the table") {
  Completer completer;
  for (const char* command : {"explain", "history", "priority"}) {
    std::string help = completer.app.get_subcommand(command)->help();
    help.erase(std::remove(help.begin(), help.end(), '\n'), help.end());
    for (const std::string& word : jobs::named_kind_words()) CHECK_MESSAGE(help.find(word) != std::string::npos, word);
    CHECK(help.find("does not queue") == std::string::npos);
  }
}

TEST_CASE("forms: a Workload is found by the name of its job") {
  const auto workload = [](const char* name, const char* kind, const char* owner, bool finished) {
    return json{{"metadata", {{"name", name}, {"ownerReferences", {{{"kind", kind}, {"name", owner}}}}}},
                {"status", {{"conditions", {{{"type", "Finished"}, {"status", finished ? "True" : "False"}}}}}}};
  };
  const json all = {workload("job-train-1", "Job", "train", true), workload("job-train-2", "Job", "train", false),
                    workload("rayjob-tune-1", "RayJob", "tune", false), workload("job-tune-1", "Job", "tune", false),
                    workload("job-old-1", "Job", "old", true)};
  CHECK(*workload_name_of(all, nullptr, "train") == "job-train-2");
  CHECK(*workload_name_of(all, nullptr, "old") == "job-old-1");
  CHECK(*workload_name_of(all, &kJobs, "tune") == "job-tune-1");
  CHECK(workload_name_of(all, nullptr, "tune").error().message ==
        "there are several Workloads of a job tune: rayjob-tune-1, job-tune-1; name one");
  CHECK(workload_name_of(all, nullptr, "none").error().message == "there is no Workload of a job none");
  // A group of pods has several owners.
  json group = workload("group", "Pod", "a", false);
  group["metadata"]["ownerReferences"].push_back({{"kind", "Pod"}, {"name", "b"}});
  CHECK(*workload_name_of(json::array({group}), nullptr, "b") == "group");
}

}  // namespace
}  // namespace muster::commands::forms_test
