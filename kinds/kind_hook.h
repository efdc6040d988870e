// Code for what the paths of a description cannot say of a kind, named in its row (`hook: ray`): pods that the kind's
// controller adds to a template, templates that are made of other fields, or of another object. What a hook edits at
// a start and a stop is in jobs/described/edit_hook.h, by the same name. Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "kinds/described_job.h"

namespace muster {

struct ConsultedKind;

// The object of a kind that the description consults; nullptr: there is none, or it is not known yet.
using ConsultedLookup = std::function<const nlohmann::json*(const ConsultedKind& kind, std::string_view name)>;

struct KindHook {
  std::string_view name;
  // The description says nothing about pod sets.
  bool makes_pod_sets = false;
  // For messages about the pod templates; empty: the job holds them.
  std::string_view where_templates_come_from{};
  // After the description itself was read.
  void (*read)(const nlohmann::json& object, DescribedJob& job);
  // Optional: what other objects add. The job is read, and has no pod sets before.
  void (*consult)(const ConsultedLookup& find, DescribedJob& job) = nullptr;
};

// nullptr: there is no hook of this name.
const KindHook* find_kind_hook(std::string_view name);
// "appwrapper, ray, ...", for messages.
std::string kind_hook_names();

}  // namespace muster
