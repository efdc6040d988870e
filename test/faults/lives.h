// Lives of a simulated cluster in which every job comes to its end, whatever fails on the way. A life ends with the
// first sentence of an invariant, or well.
//
//   Trouble trouble = live({.kind = Life::kTeams, .seed = 7});
//   if (trouble) trouble = ... shrink(scene) ... and print trouble.text()
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::test {

enum class Life {
  kQuota,     // the ledger beside the model of quota (test/scheduler/quota_history.h)
  kTeams,     // two teams that borrow, preempt and give back
  kNotReady,  // Jobs whose pods come late or never, under waitForPodsReady
  kGangs,     // gangs that get a pod late, or too late
  kFlavors,   // flavors without nodes, under flavor fallback
  kKinds,     // operators' jobs, groups of pods, and sets that serve, are scaled and deleted (kinds_life.h)
  kFutile,    // a JobSet whose Jobs are refused, and a set whose pods all claim the one place of a group
  kRelease,   // jobs that are deleted while they run, and whose pods go on (release_life.h)
  kTenant,    // a tenant who wants more than his quota, beside another team (tenant_life.h)
};
inline constexpr std::array kLives = {Life::kQuota, Life::kTeams,  Life::kNotReady, Life::kGangs, Life::kFlavors,
                                      Life::kKinds, Life::kFutile, Life::kRelease,  Life::kTenant};
std::string_view to_text(Life life);

// What a life is made from, and what shrinking takes away.
struct Scene {
  Life life = Life::kTeams;
  uint64_t seed = 1;
  int jobs = 12;
  int replicas = 2;
  bool refused_writes = true, lost_answers = true, stalled_watches = true, accidents = true;

  // As MUSTER_SCENE has it: "teams seed=7 jobs=12 replicas=2 refused lost stalled accidents".
  std::string text() const;
  static Scene read(const std::string& text);
};

struct Outcome {
  std::string violation{};  // empty: all held
  std::string trace{};      // the last writes before it
  uint64_t steps = 0;       // after each of them the invariants were checked
};
Outcome live(const Scene& scene);

// The smallest scene that can be found in which an invariant still breaks: fewer jobs, replicas and sorts of faults.
// `tries`: how many lives that can cost.
Scene shrink(Scene scene, int tries = 30);

// For a failing test: what broke, one command that runs it again, and a short trace.
std::string explain(const Scene& scene);

}  // namespace muster::test
