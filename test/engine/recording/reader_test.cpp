#include "engine/recording/reader.h"

#include <doctest/doctest.h>

#include "test/engine/recording/recorded_loop.h"

namespace reader_test {

using namespace muster;
using namespace muster::recording;
using namespace muster::test;
using nlohmann::json;

namespace {

// Three Workloads, of which two are admitted.
std::string recorded_text() {
  TextRecorder recorder;
  RecordedLoop loop(recorder);
  for (const char* name : {"a", "b", "c"}) {
    loop.add_workload(name);
    loop.answer();
  }
  return recorder.text;
}

// Of the last line that begins so.
size_t line_with(const std::string& text, const std::string& word) {
  return text.rfind('\n', text.rfind(word)) + 1;
}

std::string with_line(const json& line) {
  return line_of(to_text(line));
}

}  // namespace

TEST_CASE("recording: what is written is read again, and decides the same") {
  const std::string text = recorded_text();
  CHECK(text.find("hunter2") == std::string::npos);
  const Read read = read_all(text);
  CHECK(read.error == "");
  CHECK(read.torn == "");
  CHECK(read.batches == 7);
  CHECK(read.decisions > 3);
  const ReplayResult result = replay_of(text);
  CHECK(result.equal());
  CHECK(result.total().recorded == read.decisions);
  CHECK(result.total().equal == read.decisions);
  CHECK(result.kinds.at(DecisionKind::kAdmission).recorded == 2);
}

TEST_CASE("recording: a file that was cut anywhere is read up to its last whole batch and says so") {
  const std::string text = recorded_text();
  const size_t header = text.find('\n') + 1;
  const uint64_t whole = read_all(text).batches;
  uint64_t last = 0;
  for (size_t cut = header; cut < text.size(); ++cut) {
    const Read read = read_all(text.substr(0, cut));
    INFO("cut at " << cut << " of " << text.size() << ": " << read.error);
    REQUIRE(read.error == "");
    REQUIRE(read.batches >= last);
    REQUIRE(read.batches < whole);
    last = read.batches;
    // Between two batches nothing is missing that a reader could know of.
    const bool between = text[cut - 1] == '\n' && read_all(text.substr(0, cut)).torn.empty();
    if (!between) REQUIRE(read.torn.find("not whole") != std::string::npos);
  }
  CHECK(last == whole - 1);
}

TEST_CASE("recording: damage before the end is no end, and the line is named") {
  const std::string text = recorded_text();
  const size_t middle = text.find('\n', text.size() / 2) + 3;
  std::string changed = text;
  changed[middle + 20] ^= 1;
  CHECK(read_all(changed).error.find("is damaged") != std::string::npos);
  // A line less, with all checksums right.
  const size_t begin = line_with(text, "{\"b\":4"), end = text.find('\n', begin) + 1;
  CHECK(read_all(text.substr(0, begin) + text.substr(end)).error.find("is missing") != std::string::npos);
}

TEST_CASE("recording: a newer format is refused with a sentence, and what is no recording is none") {
  Encoder encoder;
  const std::string newer = encoder.begin({.format = kFormat + 1, .version = "9.9.9"});
  CHECK(read_all(newer).error ==
        "the recording was made by muster 9.9.9 in format 3, and this muster reads format 2; use that version, or a "
        "newer one");
  CHECK(read_all("").error == "the file is empty");
  CHECK(read_all("apiVersion: v1\nkind: List\n").error.find("damaged") != std::string::npos);
  CHECK(read_all("apiVersion: v1").error.find("no recording of muster") != std::string::npos);
  CHECK(read_all(with_line({{"hello", 1}})).error.find("no recording of muster") != std::string::npos);
}

TEST_CASE("recording: kinds have their group, and the names of format 1 are read, too") {
  CHECK(recorded_name(kJobs) == "jobs.batch");
  CHECK(recorded_name(kQueuedPods) == "queuedpods");
  Encoder encoder;
  const std::string header = encoder.begin({});
  const auto error_of = [&](const char* kind) {
    return read_all(header + with_line({{"e", "absent"}, {"k", kind}}) + with_line({{"b", 1}})).error;
  };
  for (const char* name : {"jobs.batch", "jobs", "queuedpods", "inplacepods", "pods", "workloads"})
    CHECK(error_of(name) == "");
  CHECK(error_of("jobs.example.com").find("is not known to this muster") != std::string::npos);
}

TEST_CASE("recording: a line has a limit before it is read, and an unknown kind or event is refused") {
  Encoder encoder;
  const std::string header = encoder.begin({});
  CHECK(read_all(header + std::string(5000, 'x'), 4096).error.find("longer than 4096 bytes") != std::string::npos);
  for (const json& line :
       {json{{"e", "changed"}, {"k", "widgets"}, {"o", json::object()}}, json{{"e", "changed"}, {"k", "jobs"}},
        json{{"e", "sung"}, {"k", "jobs"}}, json{{"e", "list"}, {"k", "jobs"}, {"n", 3}},
        json{{"e", "answer"}, {"id", 1}, {"outcome", "grand"}}, json{{"x", 1}}, json{{"b", 7}},
        json{{"b", 1}, {"writes", json::array({{{"verb", "sing"}}})}}}) {
    INFO(line.dump());
    CHECK(read_all(header + with_line(line) + with_line({{"b", 1}})).error.find("is damaged") != std::string::npos);
  }
  // Times that overflow are times.
  const json far = {{"e", "tick"}, {"t", INT64_MAX}, {"w", INT64_MAX}};
  CHECK(read_all(header + with_line(far) + with_line(far) + with_line({{"b", 1}})).error == "");
}

TEST_CASE("recording: a decision that is not taken now, and one that was not recorded, are found and told apart") {
  const std::string text = recorded_text();
  engine::EngineSettings none;
  none.admissions_at_a_time = 1;
  CHECK(replay_of(text, none).equal());
  // Nothing is counted, so the third one is admitted as well.
  engine::EngineSettings other;
  other.reconcilers.queues.exclude_resource_prefixes = {"cpu"};
  const ReplayResult result = replay_of(text, other);
  CHECK_FALSE(result.equal());
  CHECK(result.total().different > 0);
  bool found = false;
  for (const Difference& each : result.differences) {
    found = found || (each.object == "workloads/team-a/c" && each.now.find("QuotaReserved=True") != std::string::npos);
  }
  CHECK(found);
}

TEST_CASE("recording: the state that is folded has the last version of each object, and the writes under way") {
  TextRecorder recorder;
  RecordedLoop loop(recorder);
  RecordedState state;
  CHECK(state.empty());
  loop.add_workload("a");
  loop.add_workload("b");
  for (const engine::ObservedBatch& batch : recorder.batches) state.take(batch);
  engine::ObservedBatch snapshot = state.snapshot();
  CHECK(snapshot.writes.size() == loop.asked.size());
  loop.answer();
  loop.asked.clear();
  state.take(recorder.batches.back());
  snapshot = state.snapshot();
  size_t workloads = 0;
  bool leads = false;
  for (const engine::ObservedEvent& event : snapshot.events) {
    leads = leads || event.leads;
    if (event.type != &kWorkloads) continue;
    REQUIRE(event.texts);
    workloads = event.texts->size();
  }
  CHECK(leads);
  CHECK(workloads == 2);
}

}  // namespace reader_test
