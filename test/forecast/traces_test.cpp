// Published traces. The files here are made up, in the traces' formats.
#include "forecast/traces.h"

#include <doctest/doctest.h>

#include <string>

namespace traces_test {

using namespace muster;
using namespace muster::forecast;

namespace {

const std::string kHeliosHead =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";

std::string helios(const std::string& rows) {
  const auto read = read_helios(kHeliosHead + rows, "lab");
  return read ? "" : read.error().message;
}

std::string attempt(const std::string& start, const std::string& end, const std::string& detail) {
  const auto time = [](const std::string& text) { return text.empty() ? "null" : "\"" + text + "\""; };
  return R"({"start_time": )" + time(start) + R"(, "end_time": )" + time(end) + R"(, "detail": [)" + detail + "]}";
}

std::string philly_job(const std::string& id, const std::string& submitted, const std::string& attempts) {
  return R"({"status": "Pass", "vc": "A1b2", "jobid": ")" + id + R"(", "attempts": [)" + attempts +
         R"(], "submitted_time": ")" + submitted + R"(", "user": "u"})";
}

}  // namespace

TEST_CASE("traces: Helios, a pod for each node, as long as it ran") {
  // The second row came first. The last two never started, or end before they start.
  const auto trace = read_helios(kHeliosHead +
                                     "12,uA,vcQx,16,48,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:50:01,"
                                     "2020-06-10 18:50:01,86400,540\n"
                                     "11,uB,vcSmall,0,3,2,FAILED,2020-06-09 18:40:01,2020-06-09 18:40:01,"
                                     "2020-06-09 18:44:10,249,0\n"
                                     "13,uC,vcQx,1,1,1,CANCELLED,2020-06-09 18:42:01,None,2020-06-09 18:43:00,0,59\n"
                                     "14,uC,vcQx,1,1,1,CANCELLED,2020-06-09 18:42:01,2020-06-09 18:44:00,"
                                     "2020-06-09 18:43:00,0,59\n",
                                 "lab");
  REQUIRE(trace.ok());
  REQUIRE(trace->rows.size() == 2);
  const ArrivalRow &first = trace->rows[0], &second = trace->rows[1];
  CHECK(first.at == Duration::zero());
  CHECK(first.job.name == "job-11");
  CHECK(first.job.queue == "vcsmall");
  CHECK(first.job.count == 2);
  CHECK(first.job.requests == std::map<std::string, std::string>{{"cpu", "2"}});
  CHECK(first.run_time == std::chrono::seconds(249));
  CHECK(second.at == std::chrono::seconds(60));
  CHECK(second.job.ns == "lab");
  CHECK(second.job.requests == std::map<std::string, std::string>{{"cpu", "24"}, {"nvidia.com/gpu", "8"}});
  CHECK(second.run_time == std::chrono::hours(24));
  REQUIRE(trace->notes.size() == 1);
  CHECK(trace->notes[0].find("2 job(s)") == 0);
}

TEST_CASE("traces: of Helios, what is wrong is named with its line") {
  const std::string times = ",X,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 18:41:02,1,0\n";
  CHECK(helios("1,u,vcA,1,1,1" + times) == "");
  CHECK(helios("1,u,vcA,1,1,0" + times) == "line 2, column node_num: must be a number from 1 to 1000000");
  CHECK(helios("1,u,vcA,-1,1,1" + times) == "line 2, column gpu_num: must be a number from 0 to 1000000");
  CHECK(helios("1,u,vcA,1,9999999999999999999,1" + times).find("column cpu_num") != std::string::npos);
  CHECK(helios("1,u,vc/A,1,1,1" + times).find("line 2: the virtual cluster \"vc/A\"") == 0);
  CHECK(helios("<b>,u,vcA,1,1,1" + times).find("line 2: the id") == 0);
  CHECK(helios("1,u,vcA,1,1,1" + times + "2,u,vCA,1,1,1" + times).find("line 3: the virtual clusters \"vcA\" and") ==
        0);
  CHECK(helios("1,u,vcA\n").find("line 2: has 3 cells") == 0);
  CHECK(read_helios("time,namespace\n", "lab").error().message.find("line 1: column job_id") == 0);
  CHECK_FALSE(read_helios("", "lab").ok());
}

TEST_CASE("traces: Philly, all attempts together, a pod for each server where they are even") {
  const std::string two = R"({"ip": "m1", "gpus": ["gpu0", "gpu1"]})", one = R"({"ip": "m2", "gpus": ["gpu0"]})";
  const auto trace =
      read_philly("[" +
                      philly_job("application_1_7", "2017-10-07 01:12:00",
                                 attempt("2017-10-07 01:12:30", "2017-10-07 01:13:30", one) + "," +
                                     attempt("", "2017-10-07 01:14:00", one) + "," +
                                     attempt("2017-10-07 02:00:00", "2017-10-07 03:00:00", two + "," + two)) +
                      "," +
                      philly_job("uneven", "2017-10-07 01:11:00",
                                 attempt("2017-10-07 02:00:00", "2017-10-07 02:00:05", two + "," + one)) +
                      "," + philly_job("runs-still", "2017-10-07 01:11:00", attempt("2017-10-07 02:00:00", "", two)) +
                      "," + philly_job("never-ran", "2017-10-07 01:11:00", "") + "]",
                  "lab");
  REQUIRE(trace.ok());
  REQUIRE(trace->rows.size() == 2);
  CHECK(trace->rows[0].job.name == "uneven");
  CHECK(trace->rows[0].job.count == 3);
  CHECK(trace->rows[0].job.requests.at("nvidia.com/gpu") == "1");
  const ArrivalRow& even = trace->rows[1];
  CHECK(even.at == std::chrono::seconds(60));
  CHECK(even.job.name == "application-1-7");
  CHECK(even.job.queue == "a1b2");
  CHECK(even.job.count == 2);
  CHECK(even.job.requests.at("nvidia.com/gpu") == "2");
  CHECK(even.run_time == std::chrono::seconds(3660));
  REQUIRE(trace->notes.size() == 1);
  CHECK(trace->notes[0].find("2 job(s)") == 0);
}

TEST_CASE("traces: of Philly, what is no list of jobs is refused, and strange entries do no harm") {
  CHECK_FALSE(read_philly("{}", "lab").ok());
  CHECK_FALSE(read_philly("[", "lab").ok());
  const auto strange = read_philly(R"([1, null, {"attempts": 5}, {"attempts": [{"detail": {"gpus": 3}}]}])", "lab");
  REQUIRE(strange.ok());
  CHECK(strange->rows.empty());
  const std::string unnamed = philly_job(
      "", "2017-10-07 01:12:00", attempt("2017-10-07 01:12:30", "2017-10-07 01:13:30", R"({"gpus": ["gpu0"]})"));
  CHECK(read_philly("[" + unnamed + "]", "lab").error().message.find("job 1: the id") == 0);
}

}  // namespace traces_test
