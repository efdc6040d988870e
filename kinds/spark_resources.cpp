#include "kinds/spark_resources.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kMostMiB = std::numeric_limits<int64_t>::max() / kMiB;
constexpr int64_t kDefaultMemoryMiB = 1024;
constexpr int64_t kLeastOverheadMiB = 384;
// Spark's. The operator's webhook writes 1 into applications that say nothing, so this counts only without that
// webhook.
constexpr int64_t kDefaultExecutors = 2;
constexpr double kFactor = 0.1, kFactorOfPythonAndR = 0.4;

std::string lower_trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// "512m" or "2gb", in bytes: a number, and b, k, m, g, t or p with or without a b. Kubernetes' "512Mi" is none.
Result<int64_t> parse_size(std::string_view text, int64_t unit) {
  const std::string lower = lower_trimmed(text);
  const auto refused = [&](std::string_view why) {
    return fail("invalid Spark memory string " + go_quote(text) + std::string(why));
  };
  int64_t number = 0;
  const char* const end = lower.data() + lower.size();
  const auto [rest, error] = std::from_chars(lower.data(), end, number);
  if (lower.empty() || lower.front() == '-' || error == std::errc::invalid_argument)
    return refused(": Spark reads 512m or 2g");
  if (error != std::errc()) return refused(": value is too large");
  std::string_view suffix(rest, static_cast<size_t>(end - rest));
  if (!suffix.empty()) {
    if (suffix.size() == 2 && suffix.back() == 'b') suffix.remove_suffix(1);
    const size_t power = std::string_view("bkmgtp").find(suffix);
    if (suffix.size() != 1 || power == std::string_view::npos) return refused(": Spark reads 512m or 2g");
    unit = int64_t{1} << (10 * power);
  }
  if (number > std::numeric_limits<int64_t>::max() / unit) return refused(": value is too large");
  return number * unit;
}

Result<int64_t> parse_mib(std::string_view text) {
  auto bytes = parse_size(text, kMiB);
  if (!bytes.ok()) return bytes;
  return *bytes / kMiB;
}

// The operator's webhook sets limits, and reads both forms.
Result<Quantity> parse_limit(std::string_view text) {
  std::string_view number = text;
  if (number.ends_with('b')) number.remove_suffix(1);
  const size_t unit = std::string_view("kmgt").find(number.empty() ? '?' : number.back());
  if (unit != std::string_view::npos) {
    number.remove_suffix(1);
    return Quantity::parse(std::string(number) + std::string("KMGT").substr(unit, 1) + "i");
  }
  return Quantity::parse(text);
}

Failure<Error> in(std::string_view what, const Error& error) {
  return fail("failed to parse " + std::string(what) + ": " + error.message);
}

}  // namespace

SparkRole::SparkRole(const json& spec, std::string_view role)
    : spec_(spec), fields_(object_at(spec, {role})), role_(role) {}

std::optional<std::string> SparkRole::conf(std::string_view key) const {
  const json& all = object_at(spec_, {"sparkConf"});
  const auto found = all.find(key);
  if (found == all.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<std::string> SparkRole::role_conf(std::string_view key) const {
  return conf("spark." + role_ + "." + std::string(key));
}

std::optional<std::string> SparkRole::field_or_conf(const char* field, std::string_view key) const {
  const json* value = find_path(fields_, {field});
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  return conf(key);
}

Result<Quantity> SparkRole::cpu() const {
  if (const auto request = field_or_conf("coreRequest", "spark.kubernetes." + role_ + ".request.cores")) {
    auto quantity = Quantity::parse(*request);
    if (!quantity.ok()) return in("CPU requests " + *request, quantity.error());
    return quantity;
  }
  if (const auto cores = int_at(fields_, {"cores"})) return Quantity::of(*cores);
  if (const auto cores = role_conf("cores")) {
    const auto number = go_parse_int(*cores, 32);
    if (!number.ok()) return in("spark." + role_ + ".cores=" + *cores, number.error());
    return Quantity::of(*number);
  }
  return Quantity::of(1);
}

Result<double> SparkRole::overhead_factor() const {
  std::optional<std::string> text = role_conf("memoryOverheadFactor");
  if (!text) text = conf("spark.kubernetes.memoryOverheadFactor");
  if (!text && !string_at(spec_, {"memoryOverheadFactor"}).empty())
    text = std::string(string_at(spec_, {"memoryOverheadFactor"}));
  if (!text) {
    const std::string_view type = string_at(spec_, {"type"});
    return type == "Python" || type == "R" ? kFactorOfPythonAndR : kFactor;
  }
  double factor = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), factor);
  if (error != std::errc() || end != text->data() + text->size() || !std::isfinite(factor) || factor < 0)
    return fail("invalid memory overhead factor " + go_quote(*text) + ": must be a non-negative number");
  return factor;
}

Result<int64_t> SparkRole::overhead_mib(int64_t memory_mib) const {
  if (const auto overhead = field_or_conf("memoryOverhead", "spark." + role_ + ".memoryOverhead")) {
    auto mib = parse_mib(*overhead);
    if (!mib.ok()) return in("memory overhead", mib.error());
    return mib;
  }
  const auto factor = overhead_factor();
  if (!factor.ok()) return fail(factor.error().message);
  int64_t least = kLeastOverheadMiB;
  if (const auto minimum = role_conf("minMemoryOverhead")) {
    const auto mib = parse_mib(*minimum);
    if (!mib.ok()) return in("spark." + role_ + ".minMemoryOverhead", mib.error());
    least = *mib;
  }
  const double share = *factor * static_cast<double>(memory_mib);
  if (share > static_cast<double>(kMostMiB)) return fail("the memory overhead is too large");
  return std::max(static_cast<int64_t>(share), least);
}

// Beside the heap, an executor has memory for Python and memory off the heap.
Result<int64_t> SparkRole::executor_extra_mib() const {
  int64_t extra = 0;
  const auto pyspark = conf("spark.executor.pyspark.memory");
  if (pyspark && string_at(spec_, {"type"}) == "Python") {
    const auto mib = parse_mib(*pyspark);
    if (!mib.ok()) return in("spark.executor.pyspark.memory", mib.error());
    extra += *mib;
  }
  const auto size = conf("spark.memory.offHeap.size");
  if (size && lower_trimmed(conf("spark.memory.offHeap.enabled").value_or("")) == "true") {
    const auto bytes = parse_size(*size, 1);
    if (!bytes.ok()) return in("spark.memory.offHeap.size", bytes.error());
    extra += *bytes / kMiB;
  }
  return extra;
}

Result<Quantity> SparkRole::memory() const {
  int64_t heap = kDefaultMemoryMiB;
  if (const auto memory = field_or_conf("memory", "spark." + role_ + ".memory")) {
    const auto mib = parse_mib(*memory);
    if (!mib.ok()) return in("memory requests", mib.error());
    heap = *mib;
  }
  const auto overhead = overhead_mib(heap);
  if (!overhead.ok()) return fail(overhead.error().message);
  const auto extra = role_ == "executor" ? executor_extra_mib() : Result<int64_t>(0);
  if (!extra.ok()) return fail(extra.error().message);
  // Each is at most kMostMiB, so that the sum of three cannot overflow.
  const int64_t sum = heap + *overhead + *extra;
  if (sum > kMostMiB) return fail("a memory request of " + std::to_string(sum) + "MiB is too large");
  return Quantity::parse(std::to_string(sum) + "Mi");
}

// The operator's field, and Spark's own: spark.executor.resource.gpu.amount with its vendor, nvidia.com.
void SparkRole::add_devices(ResourceList& limits) const {
  const std::string prefix = "spark." + role_ + ".resource.";
  constexpr std::string_view kAmount = ".amount";
  for (const auto& [key, value] : object_at(spec_, {"sparkConf"}).items()) {
    if (!key.starts_with(prefix) || !key.ends_with(kAmount) || key.size() <= prefix.size() + kAmount.size()) continue;
    const std::string device = key.substr(prefix.size(), key.size() - prefix.size() - kAmount.size());
    const auto vendor = conf(prefix + device + ".vendor");
    const auto amount = value.is_string() ? go_parse_int(value.get<std::string>()) : Result<int64_t>(0);
    if (vendor && amount.ok() && *amount > 0) limits[*vendor + "/" + device] = Quantity::of(*amount);
  }
  const json& gpu = object_at(fields_, {"gpu"});
  const std::string name(string_at(gpu, {"name"}));
  const Quantity gpus = Quantity::of(int_at(gpu, {"quantity"}).value_or(0));
  if (!name.empty() && gpus > Quantity() && gpus > limits[name]) limits[name] = gpus;
}

Result<ResourceRequirements> SparkRole::resources() const {
  ResourceRequirements made;
  const auto cpus = cpu();
  if (!cpus.ok()) return fail(cpus.error().message);
  const auto amount = memory();
  if (!amount.ok()) return fail(amount.error().message);
  made.requests = {{"cpu", *cpus}, {"memory", *amount}};
  if (const std::string_view text = string_at(fields_, {"coreLimit"}); !text.empty()) {
    const auto limit = Quantity::parse(text);
    if (!limit.ok()) return in("CPU limit " + std::string(text), limit.error());
    made.limits["cpu"] = *limit;
  }
  if (const std::string_view text = string_at(fields_, {"memoryLimit"}); !text.empty()) {
    const auto limit = parse_limit(text);
    if (!limit.ok()) return in("memory limit " + std::string(text), limit.error());
    made.limits["memory"] = *limit;
  }
  add_devices(made.limits);
  return made;
}

int32_t SparkRole::instances() const {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const json* field = find_path(fields_, {"instances"});
  const auto property = conf("spark.executor.instances");
  int64_t number = kDefaultExecutors;
  // A number of another shape counts as the largest: no quota has place for it.
  if (field != nullptr && !field->is_null()) {
    number = int_at(fields_, {"instances"}).value_or(kMost);
  } else if (property) {
    const auto read = go_parse_int(*property, 32);
    number = read.ok() ? *read : kMost;
  }
  return static_cast<int32_t>(std::clamp<int64_t>(number, 0, kMost));
}

}  // namespace muster
