#include "test/world/invariants/invariants.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/pod.h"
#include "jobs/group_scheduling.h"
#include "jobs/job_kind.h"
#include "test/world/object_rules.h"
#include "test/world/waiter.h"

namespace muster::world {
namespace {

using nlohmann::json;

// "<owner>/<attempt>/<epoch>".
std::string owner_in(const std::string& token) {
  return token.substr(0, token.find('/'));
}
std::string attempt_in(const std::string& token) {
  const size_t first = token.find('/');
  return token.substr(first + 1, token.find('/', first + 1) - first - 1);
}

bool is_of_jobset(const Job& job) {
  return job.meta.controller && jobs::job_type_of(*job.meta.controller) == &kJobSets;
}

bool main_has_run(const json& pod) {
  const json& statuses = array_at(pod, {"status", "containerStatuses"});
  return std::any_of(statuses.begin(), statuses.end(), [](const json& status) {
    return find_path(status, {"state", "running"}) != nullptr ||
           find_path(status, {"lastState", "terminated"}) != nullptr ||
           find_path(status, {"state", "terminated"}) != nullptr;
  });
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

std::string seconds_text(Duration duration) {
  std::string text = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
  if (text.size() < 4) text.insert(0, 4 - text.size(), '0');
  return text.insert(text.size() - 3, ".") + " s";
}

// Whether the owner of a gang's ConfigMap is suspended, or has been: the end of its run was possibly on its way when it
// was resumed.
bool has_rested(const ApiServer& server, const json& config_map) {
  for (const json& owner : array_at(config_map, {"metadata", "ownerReferences"})) {
    const ObjectKey key{string_at(owner, {"kind"}) == kJobSets.kind ? &kJobSets : &kJobs,
                        std::string(string_at(config_map, {"metadata", "namespace"})),
                        std::string(string_at(owner, {"name"}))};
    const ObjectPtr object = server.get(key);
    if (object == nullptr) continue;
    if (bool_at(*object, {"spec", "suspend"})) return true;
    for (const json& condition : array_at(*object, {"status", "conditions"})) {
      if (string_at(condition, {"type"}) == "Suspended") return true;
    }
  }
  return false;
}

}  // namespace

Invariants::Invariants(ApiServer& server, Timeline& timeline, const RequeuingStrategy& strategy, double clock_skew)
    : server_(server),
      timeline_(timeline),
      quota_(server, timeline, [this](std::string what) { violated(std::move(what)); }),
      flavors_([this](std::string what) { violated(std::move(what)); }),
      idle_flavors_(server, timeline, [this](std::string what) { violated(std::move(what)); }),
      preemptions_(server, timeline, clock_skew, [this](std::string what) { violated(std::move(what)); }),
      backoffs_(timeline, strategy, clock_skew, [this](std::string what) { violated(std::move(what)); }),
      storms_([this](std::string what) { violated(std::move(what)); }),
      futile_writes_(server, timeline, [this](std::string what) { violated(std::move(what)); }) {
  server_.on_change([this](const Change& change) { see(change); });
}

void Invariants::violated(std::string what) {
  violations_.push_back("after " + seconds_text(timeline_.elapsed()) + ": " + std::move(what));
}

void Invariants::see(const Change& change) {
  if (*change.type == kPods) see_pod(change);
  if (*change.type == kJobs) see_job(change);
  quota_.see(change);
  flavors_.see(change);
  idle_flavors_.see(change);
  preemptions_.see(change);
  backoffs_.see(change);
  storms_.see(change, muster_writes_);
  futile_writes_.see(change, muster_writes_);
}

void Invariants::see_job(const Change& change) {
  const std::string uid = uid_of(*change.after);
  const JobPtr job = read_job(*change.after);
  const std::string owner = is_of_jobset(*job) ? job->meta.controller->uid : uid;
  if (change.removed) {
    jobs_.erase(uid);
    jobs_of_owner_[owner].erase(uid);
    return;
  }
  jobs_[uid] = job;
  jobs_of_owner_[owner].insert(uid);
  const auto waiting = tokens_of_owner_.find(owner);
  if (waiting == tokens_of_owner_.end()) return;
  for (const std::string& token : std::set(waiting->second)) evaluate(token);
}

void Invariants::see_pod(const Change& change) {
  const json& object = *change.after;
  const std::string uid = uid_of(object);
  PodFacts& facts = pods_[uid];
  if (facts.token.empty()) {
    facts.token = token_of_pod(object).value_or("");
    const std::optional<OwnerReference> owner = controller_of(object);
    if (owner) facts.job_uid = owner->uid;
  }
  if (facts.token.empty()) return void(pods_.erase(uid));
  const PodPtr pod = read_pod(object);
  facts.live = !change.removed && pod->live();
  const bool started = facts.live && (pod->waiter == WaiterState::kWaiting || pod->waiter == WaiterState::kPassed);
  if (started != facts.started) {
    facts.started = started;
    started_[facts.token][facts.job_uid] += started ? 1 : -1;
    const std::string owner = owner_in(facts.token);
    if (started && !complete_.contains(facts.token)) {
      tokens_of_owner_[owner].insert(facts.token);
      evaluate(facts.token);
    }
  }
  if (!facts.main_seen && main_has_run(object)) {
    facts.main_seen = true;
    if (!complete_.contains(facts.token))
      violated("a main container of pod " + pod->meta.name + " started, but its run " + facts.token +
               " was never complete");
  }
  if (change.removed) pods_.erase(uid);
}

void Invariants::evaluate(const std::string& token) {
  if (complete_.contains(token) || !jobs_complete(token)) return;
  complete_.insert(token);
  tokens_of_owner_[owner_in(token)].erase(token);
}

// Every required Job of the run exists, and has the number of started pods that it still expects.
bool Invariants::jobs_complete(const std::string& token) const {
  const auto jobs = jobs_of_owner_.find(owner_in(token));
  const auto started = started_.find(token);
  if (jobs == jobs_of_owner_.end() || started == started_.end()) return false;
  int64_t found = 0;
  ObjectKey jobset{&kJobSets, "", ""};
  for (const std::string& uid : jobs->second) {
    const JobPtr& job = jobs_.at(uid);
    if (!job->barrier) continue;
    const bool of_jobset = is_of_jobset(*job);
    if (of_jobset && job->meta.label(kRestartAttemptLabel) != attempt_in(token)) continue;
    if (of_jobset) jobset = {&kJobSets, job->meta.ns, job->meta.controller->name};
    ++found;
    const auto count = started->second.find(uid);
    if ((count == started->second.end() ? 0 : count->second) < job->pods_expected()) return false;
  }
  if (jobset.name.empty()) return found > 0;
  const ObjectPtr object = server_.get(jobset);
  if (object == nullptr) return false;
  int64_t wanted = 0;
  const auto declared = read_jobset(*object);
  for (const ReplicatedJob& replicated : declared->replicated_jobs) {
    if (replicated.barrier) wanted += replicated.replicas;
  }
  return found >= wanted;
}

bool Invariants::lives(const std::string& token) const {
  return std::any_of(pods_.begin(), pods_.end(),
                     [&](const auto& pod) { return pod.second.token == token && pod.second.live; });
}

void Invariants::see_verdicts(const json& config_map, const ObjectPtr& before) {
  std::set<std::string> listed;
  for (const std::string_view key : {jobs::kGroupStartedKey, jobs::kGroupExpiredKey}) {
    for (const std::string& token : lines_of(string_at(config_map, {"data", key}))) {
      if (!listed.insert(token).second) violated("token " + token + " is listed twice in " + std::string(key));
      const auto [verdict, is_new] = verdicts_.try_emplace(token, key);
      if (verdict->second != key) violated("run " + token + " is both " + verdict->second + " and " + std::string(key));
      if (is_new && key == jobs::kGroupStartedKey && !complete_.contains(token))
        violated("run " + token + " was released, but was never complete");
    }
  }
  if (before == nullptr) return;
  for (const std::string_view key : {jobs::kGroupStartedKey, jobs::kGroupExpiredKey}) {
    for (const std::string& token : lines_of(string_at(*before, {"data", key}))) {
      const bool run_has_ended = key == jobs::kGroupStartedKey && has_rested(server_, config_map);
      if (!listed.contains(token) && lives(token) && !run_has_ended)
        violated("the verdict " + std::string(key) + " on " + token + " was taken back");
    }
  }
}

void Invariants::see_write(const std::string& process, const reconcilers::Write& write, const Answer& answer,
                           const ObjectPtr& before, bool heard) {
  const bool is_change = write.verb == reconcilers::Verb::kPatch || write.verb == reconcilers::Verb::kPatchStatus;
  // If a Job that a user has started again is stopped, this only delays it.
  const bool stops = write.body == json{{"spec", {{"suspend", true}}}};
  if (is_change && !stops && string_at(write.body, {"metadata", "resourceVersion"}).empty())
    violated(process + " patches " + to_text(write.target) + " whatever it is by then: " + to_text(write.body));
  if (write.verb == reconcilers::Verb::kDelete && write.uid.empty())
    violated(process + " deletes " + to_text(write.target) + " whichever it is by then");
  futile_writes_.see_write(write, answer, before);
  if (!answer.done()) return;
  const std::string text = std::to_string(static_cast<int>(write.verb)) + to_text(write.body);
  LastWrite& last = last_writes_[write.target];
  const uint64_t was = before == nullptr ? 0 : read_meta(*before).resource_version;
  if (is_change && last.process == process && last.text == text && last.heard && last.version == was)
    violated(process + " wrote the same to " + to_text(write.target) + " again: " + to_text(write.body));
  last = {process, text, heard, answer.object == nullptr ? 0 : read_meta(*answer.object).resource_version};
  if (*write.target.type == kConfigMaps && answer.object != nullptr && write.verb != reconcilers::Verb::kDelete)
    see_verdicts(*answer.object, before);
}

void Invariants::see_breakage(const engine::Breakage& breakage) {
  violated("no breakage: " + std::string(engine::to_text(breakage.broke)) + " " +
           (breakage.key ? to_text(*breakage.key) : "something") + ": " + breakage.what + " (" + breakage.where + ")");
}

void Invariants::check_orphans() {
  for (const ResourceType* type : {&kJobSets, &kJobs, &kPods, &kConfigMaps, &kServices}) {
    for (const ObjectPtr& object : server_.list(*type)) {
      const json& owners = array_at(*object, {"metadata", "ownerReferences"});
      const bool orphan = !owners.empty() && std::none_of(owners.begin(), owners.end(), [&](const json& owner) {
        return server_.exists(std::string(string_at(owner, {"uid"})));
      });
      if (orphan) violated(to_text(key_of(*type, *object)) + " is left over: its owner is gone");
    }
  }
}

}  // namespace muster::world
