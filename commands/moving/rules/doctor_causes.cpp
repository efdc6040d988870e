// The order of what is wrong: a cause before what follows from it, and that under it.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "commands/moving/rules/doctor.h"

namespace muster::commands {
namespace {

// From a cause to what it leads to. A rule that is not here comes last.
constexpr std::string_view kOrder[] = {
    "muster-not-installed", "kubernetes-version", "muster-scaled-down", "muster-pod-refused", "muster-pod-waits",
    // What replicas need to become ready.
    "kueue-there", "definition-missing", "definition-deleted", "right-missing", "muster-not-ready",
    // Service, webhooks, CA bundles, Lease.
    "webhook-without-endpoints", "webhooks-missing", "certificate-unreadable", "ca-missing", "ca-mismatch",
    "lease-of-others", "lease-expired", "no-leader"};

size_t place_of(const Finding& finding) {
  return static_cast<size_t>(std::find(std::begin(kOrder), std::end(kOrder), finding.rule) - std::begin(kOrder));
}

template <size_t N>
bool is_one_of(const Finding& finding, const std::string_view (&rules)[N]) {
  return std::find(std::begin(rules), std::end(rules), finding.rule) != std::end(rules);
}

// Without these a replica starts and does not become ready: it cannot read what it works on, or Kueue is at work.
bool keeps_unready(const Finding& finding) {
  static constexpr std::string_view kCauses[] = {"kueue-there", "definition-missing", "definition-deleted"};
  const bool cannot_read = std::any_of(finding.objects.begin(), finding.objects.end(), [](const std::string& right) {
    return right.starts_with("list ") || right.starts_with("watch ");
  });
  return is_one_of(finding, kCauses) || (finding.rule == "right-missing" && cannot_read);
}

bool keeps_from_running(const Finding& finding) {
  static constexpr std::string_view kCauses[] = {"muster-not-installed", "muster-scaled-down", "muster-pod-refused",
                                                 "muster-pod-waits"};
  return is_one_of(finding, kCauses);
}

// While no replica is ready: no endpoints, no holder of the Lease, and no process that writes CA bundles.
bool follows(const Finding& finding, const Finding& cause) {
  static constexpr std::string_view kUnready[] = {
      "muster-not-ready", "webhook-without-endpoints", "ca-missing", "ca-mismatch", "lease-expired", "no-leader"};
  static constexpr std::string_view kAbsent[] = {"definition-missing", "webhooks-missing", "certificate-unreadable"};
  return is_one_of(finding, kUnready) || (cause.rule == "muster-not-installed" && is_one_of(finding, kAbsent));
}

// Why no replica is ready, or why not all are; end: nothing says it.
std::vector<Finding>::iterator find_cause(std::vector<Finding>& findings, bool serves) {
  auto cause = std::find_if(findings.begin(), findings.end(), keeps_from_running);
  if (serves || cause != findings.end()) return cause;
  cause = std::find_if(findings.begin(), findings.end(), keeps_unready);
  if (cause != findings.end()) return cause;
  return std::find_if(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.rule == "muster-not-ready"; });
}

}  // namespace

std::vector<Finding> by_cause(std::vector<Finding> findings, bool serves) {
  const auto in_order = [](const Finding& one, const Finding& other) { return place_of(one) < place_of(other); };
  std::stable_sort(findings.begin(), findings.end(), in_order);
  if (const auto found = find_cause(findings, serves); found != findings.end()) {
    Finding cause = std::move(*found);
    findings.erase(found);
    std::vector<Finding> others;
    for (Finding& finding : findings) {
      const bool follows_it = serves ? finding.rule == "muster-not-ready" : follows(finding, cause);
      (follows_it ? cause.consequences : others).push_back(std::move(finding));
    }
    for (const Finding& finding : cause.consequences) cause.severity = std::min(cause.severity, finding.severity);
    others.insert(others.begin(), std::move(cause));
    findings = std::move(others);
    std::stable_sort(findings.begin(), findings.end(), in_order);
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& one, const Finding& other) { return one.severity < other.severity; });
  return findings;
}

}  // namespace muster::commands
