// What goes into the engine and what comes out of it, as values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/quarantine.h"
#include "engine/unsupported_objects.h"
#include "kinds/typed_object.h"
#include "reconcilers/command.h"
#include "scheduler/nodes/node_news.h"

namespace muster::engine {

// --- Events ---

// What a recording keeps of the objects of an event (engine/loop/loop_observer.h), one text each; null: nothing is
// recorded. The engine does not read it.
using ObjectTexts = std::shared_ptr<const std::vector<std::string>>;

// A watch (re)listed: these are all objects of the kind, as they were at `version`.
struct KindListed {
  const ResourceType* type;
  std::vector<TypedObject> objects;
  uint64_t version = 0;  // 0: not known
  // Of the kind, only the object with this name was asked for; empty: all that muster
  // watches of the kind.
  std::string name{};
  ObjectTexts texts{};
};
// The API server does not serve the kind, by its own word (its CRD is not installed, or no
// longer in this version). What is known of its objects stays known.
struct KindAbsent {
  const ResourceType* type;
};
// Added or modified.
struct ObjectChanged {
  TypedObject object;
  ObjectTexts texts{};
};
// In its last state, with the resourceVersion of its removal.
struct ObjectRemoved {
  TypedObject object;
  ObjectTexts texts{};
};
// The certificates that the API server must trust, PEM, as they are stored now; empty when another program
// (cert-manager's injector) puts them into the configurations. Needed again whenever live_bundles() differ
// from it: another replica can know a newer bundle, and only a reader of the store knows which one is
// right.
struct CaBundleIssued {
  std::string pem;
};
// A command was carried out, or was not.
struct WriteFinished {
  uint64_t id;  // Command::id
  reconcilers::WriteOutcome outcome;
  // What the API server answered: the object as it is now, or its version only. What is in
  // that version is for the watch to show.
  std::optional<TypedObject> object{};
  uint64_t version = 0;  // 0: not sent
  // The API server's sentence, where it has read the request and did not take it; empty otherwise.
  std::string why{};
  ObjectTexts texts{};  // of `object`
};
// This replica has become the leader, or is it no more.
struct LeadershipChanged {
  bool leads;
  // Counts the times that this process became the leader. What it knows can be older than that,
  // so it decides nothing before each kind has caught up with the term. 0: nothing is waited for.
  uint64_t term = 0;
  // Of a leader that is one no more: until when its Lease was valid; nullopt: until now. Only for what is counted of
  // its time (state/metrics/resource_seconds.h), so it is not recorded.
  std::optional<MonotonicTime> until{};
};
// All objects of the kind that the API server held when `term` began were in events before this one.
struct KindCaughtUp {
  static constexpr uint64_t kForever = UINT64_MAX;  // a kind that is not watched

  const ResourceType* type;
  uint64_t term;
};
// What a lean watch (engine/loop/node_feed.h) tells of nodes, or of the pods on them.
struct NodesObserved {
  scheduler::NodeNews news;
  ObjectTexts texts{};  // of the news
};
// Time has come for what next_tick() announced.
struct Tick {};

using Event = std::variant<KindListed, KindAbsent, ObjectChanged, ObjectRemoved, CaBundleIssued, WriteFinished,
                           LeadershipChanged, KindCaughtUp, NodesObserved, Tick>;

// --- Commands ---

struct Command {
  uint64_t id;
  reconcilers::Write write;
  // Must not be sent by a replica whose lease has run out. The webhook configurations belong to all replicas: any
  // replica that serves admission can repair them.
  bool needs_leadership = true;
};

struct Commands {
  std::vector<Command> writes;
  std::vector<ObjectEvent> events;
  // Of what has happened; the seconds of an admission attempt are for whoever has a clock.
  std::vector<Measurement> measurements;
  // For the log, of what has happened.
  std::vector<LoggedDecision> decisions;
  // Of keys that were set aside (engine/quarantine.h).
  std::vector<Breakage> breakages;
  // For the log: the first object of each kind that asks for something that muster does not do.
  std::vector<UnsupportedFound> unsupported;

  bool empty() const {
    return writes.empty() && events.empty() && measurements.empty() && decisions.empty() && breakages.empty() &&
           unsupported.empty();
  }
};

}  // namespace muster::engine
