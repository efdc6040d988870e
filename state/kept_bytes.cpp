#include "state/kept_bytes.h"

#include <algorithm>

#include "api/pod_spec.h"
#include "jobs/kept/object_bytes.h"

namespace muster::state {
namespace {

// What makes it one: texts that are equal are one text (base/shared_text.h).
const void* identity_of(const PodSpec& spec) {
  return &spec;
}
const void* identity_of(const SharedText& text) {
  return text.empty() ? nullptr : &text.text();
}

}  // namespace

void KeptBytes::count(const TypedObject& object, int sign) {
  const std::string_view kind = type_of(object).kind;
  const std::string& ns = meta_of(object).ns;
  add_to(kind, ns, jobs::own_bytes(object), sign);
  jobs::for_each_shared_part(object, [&](const auto& part) {
    const void* identity = identity_of(part);
    if (identity == nullptr) return;
    if (sign > 0)
      hold(part, identity, kind, ns);
    else
      release(identity);
  });
}

void KeptBytes::add_to(std::string_view kind, const std::string& ns, size_t bytes, int sign) {
  const auto add = [&](auto& sums, const auto& key) {
    const auto sum = sums.try_emplace(key, 0).first;
    sum->second = sign > 0 ? sum->second + bytes : sum->second - bytes;
    if (sum->second == 0) sums.erase(sum);
  };
  add(by_kind_, kind);
  if (!ns.empty()) add(by_namespace_, ns);
}

template <class Part>
void KeptBytes::hold(const Part& part, const void* identity, std::string_view kind, const std::string& ns) {
  Shared& shared = shared_[identity];
  if (shared.holders++ > 0) return;
  shared.bytes = jobs::bytes_of(part);
  shared.kind = kind;
  shared.ns = ns;
  add_to(kind, ns, shared.bytes, 1);
}

void KeptBytes::release(const void* identity) {
  const auto found = shared_.find(identity);
  if (found == shared_.end() || --found->second.holders > 0) return;
  add_to(found->second.kind, found->second.ns, found->second.bytes, -1);
  shared_.erase(found);
}

size_t KeptBytes::total() const {
  size_t bytes = 0;
  for (const auto& [kind, sum] : by_kind_) bytes += sum;
  return bytes;
}

size_t KeptBytes::of_kind(std::string_view kind) const {
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() ? 0 : found->second;
}

size_t KeptBytes::of_namespace(std::string_view ns) const {
  const auto found = by_namespace_.find(ns);
  return found == by_namespace_.end() ? 0 : found->second;
}

std::vector<GaugeReading> KeptBytes::gauges() const {
  std::vector<GaugeReading> readings;
  for (const auto& [kind, bytes] : by_kind_)
    readings.push_back({Gauge::kKeptBytes, {{"kind", std::string(kind)}}, static_cast<double>(bytes)});
  const auto most = std::max_element(by_namespace_.begin(), by_namespace_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != by_namespace_.end())
    readings.push_back(
        {Gauge::kLargestNamespaceBytes, {{"namespace", most->first}}, static_cast<double>(most->second)});
  return readings;
}

}  // namespace muster::state
