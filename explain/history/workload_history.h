// The moments of many Workloads, as far as this process has seen them. It lives in the memory of one replica; every
// replica keeps one, since it is made from the objects that all of them watch.
//
// Tenants decide how often their Workloads change, how many they are and what conditions say. So each Workload has a
// bounded number of moments, each moment a bounded text, and all together a budget. What is over the budget is taken
// from the namespace that uses the most: first of its ended Workloads, the earliest ended first, then of those that
// exist, the least recently changed first. A namespace cannot push out what belongs to a namespace that uses less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/meta/resource_type.h"
#include "base/clock.h"
#include "explain/history/workload_moments.h"
#include "kinds/typed_object.h"

namespace muster::explain {

// One thread.
class WorkloadHistory {
 public:
  struct Limits {
    // As the allocator hands it out; equal texts are there once.
    size_t bytes = 40UL * 1024 * 1024;
    size_t moments = 32;                     // of a Workload: the first, and the last ones
    size_t moments_when_full = 4;            // the same, where the budget is used up
    Duration kept = std::chrono::hours(24);  // after a Workload has finished or is gone
  };
  WorkloadHistory() : WorkloadHistory(Limits()) {}
  explicit WorkloadHistory(Limits limits) : limits_(limits) {}
  WorkloadHistory(const WorkloadHistory&) = delete;
  WorkloadHistory& operator=(const WorkloadHistory&) = delete;

  // A version of it was seen, the first or another.
  void put(const Workload& workload, Timestamp now);
  void remove(const Workload& workload, Timestamp now);
  // These are all that there are.
  void relist(const std::vector<TypedObject>& workloads, Timestamp now);

  // Of a Workload, or of the last Workloads of a job; earliest first. Empty: nothing is known.
  static constexpr size_t kMostWorkloads = 8;
  std::vector<ExplainedMoment> of(const ObjectKey& key) const;

  void clear();

  size_t bytes() const { return bytes_; }
  size_t workloads() const { return workloads_; }

 private:
  struct Namespace;
  // A digest of metadata.uid, which the API server makes: 16 bytes instead of 80.
  struct Uid {
    uint64_t first = 0, second = 0;
    bool operator==(const Uid&) const = default;
  };
  struct Record {
    Namespace* ns = nullptr;
    Uid uid{};
    SharedText owner_kind{};
    std::string name{}, owner{};
    WorkloadTrace trace{};
    std::vector<Moment> moments{};
    uint32_t dropped = 0;
    bool short_now = false;  // it was cut to moments_when_full
    bool gone = false;       // deleted
    int64_t ended = 0;       // seconds since 1970; 0: it has neither finished nor gone
    // As counted last: without its texts, and with all of them.
    size_t bytes = 0, charge = 0;
  };
  using Records = std::list<Record>;
  struct Namespace {
    std::string name;
    Records living;                       // the least recently changed first
    Records ended;                        // the earliest first
    size_t charge = 0, ended_charge = 0;  // of its records: whoever uses a text is charged for all of it
  };
  using Place = Records::iterator;

  void remove(const Uid& uid, Timestamp now);
  Place add(const Workload& workload);
  static Uid digest_of(std::string_view uid);
  std::optional<Place> find(const Uid& uid) const;
  void note(Record& record, WorkloadTrace::News news);
  void cut(Record& record, size_t most);
  void hold(const SharedText& text);
  void release(const SharedText& text);
  void release(const Moment& moment);
  void end(Place record, int64_t at);
  void live_again(Place record);
  void count(Record& record);
  void forget(Place record);
  void expire(Timestamp now);
  void keep_budget();
  bool take_from_ended();
  bool take_from_living();
  std::optional<ExplainedOthers::Name> name_of(std::string_view uid) const;
  void resolve(Moment& moment) const;

  static uint64_t key_of(std::string_view ns, std::string_view kind, std::string_view name);
  static size_t size_of(const Record& record);
  static size_t charge_of(const Record& record);

  const Limits limits_;
  std::unordered_map<std::string, Namespace> namespaces_;
  // By digest: different ones can share it, so what is found is compared.
  std::unordered_multimap<uint64_t, Place> by_uid_, by_name_;
  // How often each text is used, by where it is.
  std::unordered_map<const std::string*, uint32_t> texts_;
  size_t bytes_ = 0, workloads_ = 0;
  int64_t earliest_ended_ = INT64_MAX;  // at most the earliest end of all, so that expire() costs nothing until then
};

}  // namespace muster::explain
