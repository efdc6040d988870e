// `muster preflight`, `muster doctor`, `muster status`, `muster adopt` and `muster sysdump`: their command lines.
#pragma once

#include <string>
#include <vector>

#include "commands/kubectl/cluster_flags.h"
#include "commands/moving/rules/finding.h"
#include "commands/review/review.h"
#include "kube/api.h"
#include "kube/transport/timing.h"

namespace CLI {
class App;
}

namespace muster::commands {

struct PreflightFlags {
  ClusterFlags cluster{};
  SourceNames sources{};
  FindingFormat format = FindingFormat::kTable;
};
void add_preflight(CLI::App& app, PreflightFlags& flags);
// 0: nothing is to be done; 1: there are findings, or no answer; 2: wrong command line.
int run_preflight(const PreflightFlags& flags, ReviewStreams streams);
// The same in a cluster that is at hand.
int preflight_of(kube::KubeApi& api, const PreflightFlags& flags, ReviewStreams streams);

struct AdoptFlags {
  ClusterFlags cluster{};
  bool dry_run = false, undo = false, jobset = false;
  bool accept_harm = false, keep_configuration = false;
  Duration timeout = std::chrono::minutes(5);  // of one step
};
void add_adopt(CLI::App& app, AdoptFlags& flags);
// 0: done; 1: refused, or not done to its end; 2: wrong command line.
int run_adopt(const AdoptFlags& flags, ReviewStreams streams);

struct DoctorFlags {
  ClusterFlags cluster{};
  FindingFormat format = FindingFormat::kTable;
};
void add_doctor(CLI::App& app, DoctorFlags& flags);
// 0: nothing is to be done; 1: there are findings, or no answer; 2: wrong command line.
int run_doctor(const DoctorFlags& flags, ReviewStreams streams);
// The same in a cluster that is at hand.
int doctor_of(kube::KubeApi& api, const DoctorFlags& flags, const Clock& clock, ReviewStreams streams);

// The findings of doctor, the first cause first. The error: the API server does not answer.
Result<std::vector<Finding>> examine(kube::KubeApi& api, const std::string& muster_namespace, const Clock& clock);

struct StatusFlags {
  ClusterFlags cluster{};
  bool wait = false;
  Duration timeout = std::chrono::minutes(2);  // of `wait`
};
void add_status(CLI::App& app, StatusFlags& flags);
// 0: muster works; 1: a part is missing, or there is no answer; 2: wrong command line.
int run_status(const StatusFlags& flags, ReviewStreams streams);
// The same in a cluster that is at hand.
int status_of(kube::KubeApi& api, const StatusFlags& flags, const kube::Timing& timing, ReviewStreams streams);

struct SysdumpFlags {
  ClusterFlags cluster{};
  std::string target{};  // a folder that is not there yet, or a file that ends in .tar
};
void add_sysdump(CLI::App& app, SysdumpFlags& flags);
// 0: written; 1: not; 2: wrong command line.
int run_sysdump(const SysdumpFlags& flags, ReviewStreams streams);
// The same of a cluster that is at hand.
int sysdump_of(kube::KubeApi& api, const SysdumpFlags& flags, ReviewStreams streams);

// --muster-namespace and -o, which these commands share.
void add_muster_namespace(CLI::App& command, ClusterFlags& flags);
void add_finding_format(CLI::App& command, FindingFormat& format);
// Of --timeout: more than zero.
Result<Duration> parse_wait(std::string_view text);

}  // namespace muster::commands
