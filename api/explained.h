// The answer to "why does it not run?", as muster sends it and `muster explain` prints it: one
// dominant reason, its numbers, the Workloads ahead, the possible actions. Made by
// explain/explain.h.
//
// Sentences name only the requested object and the objects that it uses; Workloads of
// other users are only in `others`, where they can be removed for readers without
// permission.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "api/meta/time.h"
#include "api/texts/explain_reasons.h"
#include "base/result.h"

namespace muster {

// Amounts are quantities as text: "1500m", "64Gi".
struct ExplainedFlavor {
  std::string pod_set;
  std::string resource;
  std::string flavor;  // empty: the ClusterQueue has none for the resource
  std::string requested{}, free{}, nominal{}, most{};
  std::string verdict{};

  bool operator==(const ExplainedFlavor&) const = default;
};

struct ExplainedFact {
  std::string name;  // "LocalQueue"
  std::string value;

  bool operator==(const ExplainedFact&) const = default;
};

// Workloads that matter to this one.
struct ExplainedOthers {
  std::string role;   // kAheadRole and so on
  int64_t count = 0;  // all of them
  struct Name {
    std::string ns, name;
    std::string job{}, amount{};  // of holders: "job/train", elsewhere "team-b/job/train"; "4"

    bool operator==(const Name&) const = default;
  };
  std::vector<Name> names;  // of the first ones, as far as the reader can see them
  // Of holders: the ClusterQueue (empty: the reader must not see it), and what its Workloads hold together.
  std::string cluster_queue{}, resource{}, flavor{};
  std::string amount{};   // beyond its nominal quota, if it borrows
  bool borrowed = false;  // the ClusterQueue is another one, which has borrowed from the cohort

  bool operator==(const ExplainedOthers&) const = default;
};
inline constexpr std::string_view kAheadRole = "ahead";          // before it in its queue
inline constexpr std::string_view kVictimRole = "victim";        // evicted for it, and not gone yet
inline constexpr std::string_view kBlockerRole = "blocker";      // not ready, which holds up all admissions
inline constexpr std::string_view kPreemptorRole = "preemptor";  // it was evicted for this one
inline constexpr std::string_view kHolderRole = "holder";        // holds the quota that it waits for

// What a person can do. `by` follows from the permissions that it needs: those of muster-batch-user, or more.
inline constexpr std::string_view kByYou = "you";
inline constexpr std::string_view kByAdministrator = "an administrator";
struct ExplainedAction {
  std::string by;
  std::string what;       // "Resume LocalQueue lq"
  std::string command{};  // one line for a shell, its names quoted; empty: there is none
  // It names an object of this kind that the reader did not name: for readers who can list these. Not sent.
  const ResourceType* suggests = nullptr;

  std::string sentence() const;
  bool operator==(const ExplainedAction&) const = default;
};

struct ExplainedTries {
  int32_t failed = 0;            // evictions because its pods were not ready
  std::optional<int32_t> limit;  // tries in all; nullopt: no limit
  Timestamp next_at;             // zero: the next try waits for no time

  bool operator==(const ExplainedTries&) const = default;
};

struct ExplainedMoment {
  Timestamp time;
  std::string what;
  // The Workload for which it was preempted, as far as the reader can see it.
  std::optional<ExplainedOthers::Name> by{};
  // Read from a condition, of a time before muster kept a history of it.
  bool from_conditions = false;

  bool operator==(const ExplainedMoment&) const = default;
};

// The terms by which the scheduler orders pending Workloads.
struct ExplainedTerms {
  int64_t position = 0;                       // in the ClusterQueue's queue, from 1
  std::string ns{}, name{}, cluster_queue{};  // empty where the reader must not see them
  bool itself = false;                        // the Workload of the question
  bool sticky = false;                        // its preemptions are in progress: it comes first
  int32_t priority = 0;
  std::string priority_class{};  // empty: none, or the reader must not see it
  Timestamp time{};
  std::string time_of{};  // "creation", "eviction" or "preemption"
  // The first term in which it differs from the Workload of the question, or a head from the head of that one's queue:
  // "sticky", "claim", "blocked", "level", "borrowing", "share", "priority", "time" or "uid". Empty: none.
  std::string decided_by{};

  // Of the first Workload of a ClusterQueue, which each cycle compares with those of the other ClusterQueues.
  bool claim = false;              // it evicted the same Workload again and again
  bool blocked = false;            // an earlier cycle blocked it until other pods are ready
  std::optional<int64_t> level{};  // of the nearest quota that it needs: 0 for the queue's own; nullopt: there is none
  bool borrows = false;            // fair sharing: it borrows after its admission
  double share = 0;                // fair sharing: what its queue borrows then, per mille of the Cohort, unweighted
  double weight = 1;

  bool operator==(const ExplainedTerms&) const = default;
};

// The place of a pending Workload.
struct ExplainedOrder {
  std::string cluster_queue;
  int64_t position = 0, pending = 0;  // from 1, of this many
  struct Ahead {
    std::string term;  // as decided_by
    int64_t count = 0;

    bool operator==(const Ahead&) const = default;
  };
  std::vector<Ahead> ahead{};         // how many are ahead by each term, the strongest term first
  bool fair = false;                  // fair sharing between the ClusterQueues of a Cohort
  std::vector<ExplainedTerms> queue;  // the first ones, and those around it, in the order of the queue
  std::vector<ExplainedTerms> heads;  // the first Workloads of the ClusterQueues of its tree of Cohorts, in order
  int64_t heads_left_out = 0;         // beyond these

  bool operator==(const ExplainedOrder&) const = default;
};

struct ExplainReply {
  std::string kind, ns, name;  // of the object that was asked about
  bool found = true;           // there is such an object
  Timestamp at;                // when it was asked

  std::string alarm;                 // a sentence above all others: muster is down; empty: it is at work
  std::string reason;                // one token
  std::string headline;              // a sentence
  std::vector<std::string> because;  // sentences
  std::vector<ExplainedFact> facts;
  std::vector<ExplainedFlavor> flavors;
  std::vector<ExplainedOthers> others;
  std::vector<std::string> starts;       // sentences: when it starts, or is evaluated again
  std::vector<ExplainedAction> actions;  // what a person can do
  std::vector<std::string> change;       // both as sentences, for readers that know no others; and what is neither
  std::optional<ExplainedTries> tries;
  std::optional<ExplainedOrder> order;    // of a pending Workload in an existing ClusterQueue
  std::vector<ExplainedMoment> timeline;  // earliest first
  std::vector<std::string> notes;         // what the answer does not know

  bool operator==(const ExplainReply&) const = default;

  // "Job team-a/train".
  std::string subject() const { return kind + " " + ns + "/" + name; }
  // `ending`: how the token of an open row goes on.
  void say(ExplainReason why, std::string sentence, std::string_view ending = {});
  bool says(ExplainReason why) const { return reason == to_text(why); }
  void add_fact(std::string_view fact, std::string value);
  void starts_when(std::string sentence);
  void can(ExplainedAction action);
  // Of `change`, what is in neither `starts` nor `actions`.
  std::vector<std::string> other_changes() const;
  void forget_changes();
};

nlohmann::json to_json(const ExplainReply& explained);
// What another version leaves out reads as empty. An error when it is no such answer at all.
Result<ExplainReply> read_explained(const nlohmann::json& object);

// The namespaces whose Workloads it names, each once, sorted.
std::vector<std::string> namespaces_named(const ExplainReply& explained);
// "ClusterQueue research borrows 4 of cpu in flavor spot (job/s1 3, and 1 that you cannot list)."
std::string holders_sentence(const ExplainedOthers& holders);
// Takes out the names of the namespaces for which `may_know` is false, and the ClusterQueues of other namespaces'
// Workloads alone; counts and amounts stay.
void hide_names(ExplainReply& explained, const std::function<bool(const std::string& ns)>& may_know);

// Takes out what suggests an object of a kind that `may_list` refuses; it is asked once for each kind.
void hide_suggestions(ExplainReply& explained, const std::function<bool(const ResourceType& type)>& may_list);

}  // namespace muster
