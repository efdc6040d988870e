// Published traces of GPU clusters as tables of arrivals, so that waits can be compared with those in papers. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "forecast/arrivals.h"

namespace muster::forecast {

enum class ArrivalsFormat { kCsv, kHelios, kPhilly };
Result<ArrivalsFormat> parse_arrivals_format(std::string_view text);

struct Trace {
  std::vector<ArrivalRow> rows;    // by time; the first comes at 0
  std::vector<std::string> notes;  // what was left out; sentences
};

// A job's virtual cluster, in small letters, is its LocalQueue in the namespace `ns`. GPUs are nvidia.com/gpu. Each job
// runs as long as it ran in the trace, whatever its end was. Jobs without times are left out and counted.
//
// Helios (SenseTime, SC '21): cluster_log.csv. A pod for each node, with its share of the GPUs and CPUs, rounded up.
// Philly (Microsoft, ATC '19): cluster_job_log, JSON. The time of all attempts together; a pod for each server of the
// last attempt where all have as many GPUs, otherwise a pod for each GPU.
// Times are taken as they are written, without a time zone. Errors say the line, or the number of the job.
Result<Trace> read_helios(std::string_view csv, const std::string& ns);
Result<Trace> read_philly(std::string_view json_text, const std::string& ns);

}  // namespace muster::forecast
