#include "explain/history/workload_history.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "api/workload.h"

namespace muster::explain {
namespace {

// The mean number of bytes by which an allocator rounds up each block.
constexpr size_t kOfBlock = 8;
// Of the two indexes, for each entry: the node, and its place among the buckets.
constexpr size_t kOfIndex = 40;
// The bytes that SharedText and this history keep beside each text.
constexpr size_t kOfText = 128;
// Freeing memory needs a pass over all namespaces, so it frees more than is needed.
constexpr size_t kRoomShare = 64;

size_t heap_of(const std::string& text) {
  return text.capacity() > 15 ? text.capacity() + 1 + kOfBlock : 0;
}

size_t size_of_text(const SharedText& text) {
  return text.empty() ? 0 : kOfText + heap_of(text.text());
}

uint64_t digest(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

int64_t end_of(const Workload& workload, Timestamp now) {
  const Condition* finished = find_condition(workload.status.conditions, kFinishedCondition);
  if (finished == nullptr || !finished->is_true()) return 0;
  // A time of an end cannot be in the future.
  return finished->last_transition.is_zero() ? now.seconds : std::min(finished->last_transition.seconds, now.seconds);
}

}  // namespace

uint64_t WorkloadHistory::key_of(std::string_view ns, std::string_view kind, std::string_view name) {
  return digest(std::string(ns).append("/").append(kind).append("/").append(name));
}

size_t WorkloadHistory::size_of(const Record& record) {
  // The record and two links of the list; one entry by uid, one by name, one by owner.
  size_t size = sizeof(Record) + 16 + kOfBlock + (3 * kOfIndex) + record.trace.bytes() + kOfBlock;
  size += heap_of(record.name) + heap_of(record.owner);
  return size + record.moments.capacity() * sizeof(Moment) + kOfBlock;
}

size_t WorkloadHistory::charge_of(const Record& record) {
  size_t charge = size_of(record);
  for (const Moment& moment : record.moments) charge += size_of_text(moment.text) + size_of_text(moment.preemptor);
  return charge;
}

void WorkloadHistory::hold(const SharedText& text) {
  if (!text.empty() && ++texts_[&text.text()] == 1) bytes_ += size_of_text(text);
}

void WorkloadHistory::release(const SharedText& text) {
  const auto held = text.empty() ? texts_.end() : texts_.find(&text.text());
  if (held == texts_.end() || --held->second > 0) return;
  bytes_ -= size_of_text(text);
  texts_.erase(held);
}

void WorkloadHistory::release(const Moment& moment) {
  release(moment.text);
  release(moment.preemptor);
}

WorkloadHistory::Uid WorkloadHistory::digest_of(std::string_view uid) {
  return {digest(uid), digest(std::string(uid) + "/")};
}

std::optional<WorkloadHistory::Place> WorkloadHistory::find(const Uid& uid) const {
  const auto [first, last] = by_uid_.equal_range(uid.first);
  for (auto found = first; found != last; ++found) {
    if (found->second->uid == uid) return found->second;
  }
  return std::nullopt;
}

WorkloadHistory::Place WorkloadHistory::add(const Workload& workload) {
  const ObjectMeta& meta = workload.meta;
  Namespace& ns = namespaces_[meta.ns];
  if (ns.name.empty()) ns.name = meta.ns;
  Record record{.ns = &ns, .uid = digest_of(meta.uid), .name = meta.name};
  if (meta.controller) {
    record.owner_kind = meta.controller->kind;
    record.owner = meta.controller->name;
  }
  const Place place = ns.living.insert(ns.living.end(), std::move(record));
  by_uid_.emplace(place->uid.first, place);
  by_name_.emplace(key_of(meta.ns, kWorkloads.kind, meta.name), place);
  if (!place->owner.empty()) by_name_.emplace(key_of(meta.ns, place->owner_kind.text(), place->owner), place);
  ++workloads_;
  return place;
}

void WorkloadHistory::count(Record& record) {
  const size_t size = size_of(record), charge = charge_of(record);
  Namespace& ns = *record.ns;
  bytes_ += size - record.bytes;
  ns.charge += charge - record.charge;
  if (record.ended != 0) ns.ended_charge += charge - record.charge;
  record.bytes = size;
  record.charge = charge;
}

void WorkloadHistory::remove(const Workload& workload, Timestamp now) {
  remove(digest_of(workload.meta.uid), now);
}

void WorkloadHistory::put(const Workload& workload, Timestamp now) {
  expire(now);
  const std::optional<Place> found = find(digest_of(workload.meta.uid));
  const bool known = found.has_value();
  const int64_t ended = end_of(workload, now);
  // A Workload that ended long ago: its conditions still exist and contain the same data.
  if (!known && ended != 0 && to_time_point({ended, 0}) + limits_.kept <= to_time_point(now)) return;
  const Place record = found ? *found : add(workload);
  WorkloadTrace::News news = record->trace.take(workload, now);
  const bool changed = !news.moments.empty() || news.waits;
  if (changed) note(*record, std::move(news));
  if (changed || !known) count(*record);
  if (ended != 0 && record->ended == 0) {
    end(record, ended);
  } else if (ended == 0 && record->ended != 0) {
    live_again(record);
  } else if (changed && record->ended == 0) {
    record->ns->living.splice(record->ns->living.end(), record->ns->living, record);
  }
  keep_budget();
}

void WorkloadHistory::remove(const Uid& uid, Timestamp now) {
  const std::optional<Place> found = find(uid);
  if (!found || (*found)->gone) return;
  const Place record = *found;
  record->gone = true;
  note(*record, {.moments = {Moment{.seconds = now.seconds, .kind = MomentKind::kDeleted}}});
  count(*record);
  if (record->ended == 0) end(record, now.seconds);
  expire(now);
  keep_budget();
}

void WorkloadHistory::relist(const std::vector<TypedObject>& workloads, Timestamp now) {
  std::unordered_set<uint64_t> listed;
  for (const TypedObject& object : workloads) {
    const auto* workload = std::get_if<WorkloadPtr>(&object);
    if (workload == nullptr) continue;
    listed.insert(digest((*workload)->meta.uid));
    put(**workload, now);
  }
  std::vector<Uid> gone;
  for (auto& [name, ns] : namespaces_) {
    for (const Records* records : {&ns.living, &ns.ended}) {
      for (const Record& record : *records) {
        if (!record.gone && !listed.contains(record.uid.first)) gone.push_back(record.uid);
      }
    }
  }
  for (const Uid& uid : gone) remove(uid, now);
}

// The uid of a preemptor is replaced by its name while the preemptor can be found.
void WorkloadHistory::resolve(Moment& moment) const {
  const ExplainedMoment told = explained(moment, [this](std::string_view uid) { return name_of(uid); });
  if (told.by) moment.preemptor = SharedText(path_of(told.by->ns, told.by->name));
}

std::optional<ExplainedOthers::Name> WorkloadHistory::name_of(std::string_view uid) const {
  const std::optional<Place> record = find(digest_of(uid));
  if (!record) return std::nullopt;
  return ExplainedOthers::Name{(*record)->ns->name, (*record)->name};
}

void WorkloadHistory::note(Record& record, WorkloadTrace::News news) {
  if (news.waits) {
    const auto last = std::find_if(record.moments.rbegin(), record.moments.rend(),
                                   [](const Moment& moment) { return moment.kind == MomentKind::kWaits; });
    if (last != record.moments.rend()) {
      hold(*news.waits);
      release(last->text);
      last->text = std::move(*news.waits);
    }
  }
  // With exactly the needed size: the number of these objects is very large.
  record.moments.reserve(std::min(limits_.moments, record.moments.size() + news.moments.size()));
  for (Moment& moment : news.moments) {
    if (!moment.preemptor.empty()) resolve(moment);
    if (record.moments.size() >= limits_.moments) cut(record, limits_.moments - 1);
    hold(moment.text);
    hold(moment.preemptor);
    record.moments.push_back(std::move(moment));
  }
  if (!news.moments.empty()) record.short_now = false;
}

// The first moment stays: the creation of the Workload.
void WorkloadHistory::cut(Record& record, size_t most) {
  if (record.moments.size() <= most) return;
  const size_t over = record.moments.size() - most;
  const auto first = record.moments.begin() + 1, last = first + static_cast<std::ptrdiff_t>(over);
  std::for_each(first, last, [this](const Moment& moment) { release(moment); });
  record.moments.erase(first, last);
  record.dropped += static_cast<uint32_t>(over);
}

void WorkloadHistory::end(Place record, int64_t at) {
  Namespace& ns = *record->ns;
  record->ended = at;
  ns.ended_charge += record->charge;
  // Most Workloads end now; after a restart they arrive in any order.
  auto behind = ns.ended.end();
  while (behind != ns.ended.begin() && std::prev(behind)->ended > at) --behind;
  ns.ended.splice(behind, ns.living, record);
  earliest_ended_ = std::min(earliest_ended_, at);
}

void WorkloadHistory::live_again(Place record) {
  if (record->gone) return;
  Namespace& ns = *record->ns;
  record->ended = 0;
  ns.ended_charge -= record->charge;
  ns.living.splice(ns.living.end(), ns.ended, record);
}

void WorkloadHistory::forget(Place record) {
  Namespace& ns = *record->ns;
  const auto drop = [&](auto& index, uint64_t key) {
    const auto [first, last] = index.equal_range(key);
    for (auto found = first; found != last; ++found) {
      if (found->second == record) return void(index.erase(found));
    }
  };
  drop(by_uid_, record->uid.first);
  drop(by_name_, key_of(ns.name, kWorkloads.kind, record->name));
  if (!record->owner.empty()) drop(by_name_, key_of(ns.name, record->owner_kind.text(), record->owner));
  for (const Moment& moment : record->moments) release(moment);
  bytes_ -= record->bytes;
  ns.charge -= record->charge;
  --workloads_;
  if (record->ended != 0) {
    ns.ended_charge -= record->charge;
    ns.ended.erase(record);
  } else {
    ns.living.erase(record);
  }
}

void WorkloadHistory::expire(Timestamp now) {
  const TimePoint before = to_time_point(now) - limits_.kept;
  if (earliest_ended_ == INT64_MAX || to_time_point({earliest_ended_, 0}) > before) return;
  earliest_ended_ = INT64_MAX;
  for (auto ns = namespaces_.begin(); ns != namespaces_.end();) {
    Records& ended = ns->second.ended;
    while (!ended.empty() && to_time_point({ended.front().ended, 0}) <= before) forget(ended.begin());
    if (!ended.empty()) earliest_ended_ = std::min(earliest_ended_, ended.front().ended);
    ns = ended.empty() && ns->second.living.empty() ? namespaces_.erase(ns) : std::next(ns);
  }
}

void WorkloadHistory::keep_budget() {
  if (bytes_ <= limits_.bytes) return;
  const size_t wanted = limits_.bytes - (limits_.bytes / kRoomShare);
  while (bytes_ > wanted && (take_from_ended() || take_from_living())) {
  }
}

// Removes finished Workloads of the namespace that uses the most memory for them, until another namespace uses
// more. False: none is left.
bool WorkloadHistory::take_from_ended() {
  Namespace* largest = nullptr;
  size_t second = 0;
  for (auto& [name, ns] : namespaces_) {
    if (ns.ended.empty()) continue;
    if (largest == nullptr || ns.ended_charge > largest->ended_charge) {
      if (largest != nullptr) second = std::max(second, largest->ended_charge);
      largest = &ns;
    } else {
      second = std::max(second, ns.ended_charge);
    }
  }
  if (largest == nullptr) return false;
  const size_t wanted = limits_.bytes - (limits_.bytes / kRoomShare);
  do {
    forget(largest->ended.begin());
  } while (!largest->ended.empty() && bytes_ > wanted && largest->ended_charge >= second);
  return true;
}

// The same for existing Workloads: first the moments between their first and their last moments, then all.
// False: none is left.
bool WorkloadHistory::take_from_living() {
  Namespace* largest = nullptr;
  for (auto& [name, ns] : namespaces_) {
    if (!ns.living.empty() && (largest == nullptr || ns.charge > largest->charge)) largest = &ns;
  }
  if (largest == nullptr) return false;
  const size_t before = bytes_;
  const size_t wanted = limits_.bytes - (limits_.bytes / kRoomShare);
  for (Record& record : largest->living) {
    if (bytes_ <= wanted) return true;
    if (std::exchange(record.short_now, true)) continue;
    cut(record, limits_.moments_when_full);
    record.moments.shrink_to_fit();
    count(record);
  }
  while (bytes_ > wanted && bytes_ >= before && !largest->living.empty()) forget(largest->living.begin());
  return true;
}

void WorkloadHistory::clear() {
  by_uid_.clear();
  by_name_.clear();
  namespaces_.clear();
  texts_.clear();
  bytes_ = workloads_ = 0;
  earliest_ended_ = INT64_MAX;
}

std::vector<ExplainedMoment> WorkloadHistory::of(const ObjectKey& key) const {
  std::vector<Place> records;
  const auto [first, last] = by_name_.equal_range(key_of(key.ns, key.type->kind, key.name));
  for (auto found = first; found != last; ++found) {
    const Record& record = *found->second;
    const bool is_it = key.type->kind == kWorkloads.kind
                           ? record.name == key.name
                           : record.owner == key.name && record.owner_kind == key.type->kind;
    if (is_it && record.ns->name == key.ns) records.push_back(found->second);
  }
  const auto began = [](const Place& record) { return record->moments.front().seconds; };
  std::stable_sort(records.begin(), records.end(), [&](const Place& a, const Place& b) { return began(a) < began(b); });
  if (records.size() > kMostWorkloads) records.erase(records.begin(), records.end() - kMostWorkloads);
  std::vector<ExplainedMoment> moments;
  const auto named = [this](std::string_view uid) { return name_of(uid); };
  for (const Place& record : records) {
    for (const Moment& moment : record->moments) {
      ExplainedMoment told = explained(moment, named);
      if (moment.kind == MomentKind::kCreated) told.what += ": " + record->name;
      moments.push_back(std::move(told));
      if (&moment != &record->moments.front() || record->dropped == 0) continue;
      const Moment gap{.seconds = record->moments.size() > 1 ? record->moments[1].seconds : moment.seconds,
                       .text = SharedText(std::to_string(record->dropped)),
                       .kind = MomentKind::kGap};
      moments.push_back(explained(gap, named));
    }
  }
  std::stable_sort(moments.begin(), moments.end(),
                   [](const ExplainedMoment& a, const ExplainedMoment& b) { return a.time < b.time; });
  return moments;
}

}  // namespace muster::explain
