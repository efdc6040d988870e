// When jobs come: from tables, and by chance. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "forecast/job_shapes.h"
#include "forecast/scenario.h"

namespace muster::forecast {

// Random arrivals, from templates:
//   when      jobs come one by one; the time between two of them has an exponential distribution (a Poisson process)
//             with the mean `over` / `jobs`;
//   which     each is one of the templates, with odds in proportion to their weights;
//   how long  the run time of its template times a number with a log-normal distribution whose median is 1 and whose
//             logarithm has the deviation `spread`. A template without an end has none.
// The same seed gives the same arrivals on every machine whose math library is the same.
struct RandomArrivals {
  uint64_t seed = 1;
  uint32_t jobs = 0;
  Duration over{};
  double spread = 0;
};
std::vector<Arrival> random_arrivals(const RandomArrivals& random, const std::vector<JobShape>& shapes);

// One row of a table of arrivals.
struct ArrivalRow {
  size_t line = 0;
  Duration at{};
  PlainJob job{};
  Duration run_time{};
};

// CSV (RFC 4180) with the header `time,namespace,queue,name,class,count,requests,runTime`, the columns in any order and
// all there. time and runTime: parse_span(); requests: "cpu=4;memory=8Gi" of each pod; class can be empty. Errors say
// the line and the column.
Result<std::vector<ArrivalRow>> read_arrivals(std::string_view csv);

// The cells of CSV, row by row; each row with the line on which it begins.
struct CsvRow {
  size_t line = 0;
  std::vector<std::string> cells;
};
Result<std::vector<CsvRow>> read_csv(std::string_view text);

}  // namespace muster::forecast
