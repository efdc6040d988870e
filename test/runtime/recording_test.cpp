// The file of `muster serve --record`: what it is on disk, and what ends it.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "runtime/recording/file_recorder.h"
#include "runtime/recording/recorded_settings.h"
#include "test/engine/recording/recorded_loop.h"
#include "test/support/temporary_folder.h"

namespace recording_test {

using namespace muster;
using namespace muster::runtime;
using namespace muster::test;
namespace fs = std::filesystem;

namespace {

struct Told {
  std::atomic<int> records = -1;
  std::atomic<int> ends = 0;
  std::string why;

  FileRecorder::Callbacks callbacks() {
    return {.recording = [this](bool on) { records = on ? 1 : 0; },
            .ended =
                [this](const std::string& sentence) {
                  why = sentence;
                  ++ends;
                }};
  }
};

// Workloads until the recording has been asked to write so much.
void record(FileRecorder& recorder, int workloads) {
  RecordedLoop loop(recorder);
  for (int i = 0; i < workloads; ++i) {
    loop.add_workload("w" + std::to_string(i));
    loop.answer();
  }
}

mode_t mode_of(const std::string& file) {
  struct stat found {};
  REQUIRE(lstat(file.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

}  // namespace

TEST_CASE("recording file: only its owner can read it, and it holds no secret") {
  const TemporaryFolder folder;
  const mode_t before = umask(0);
  Told told;
  {
    FileRecorder recorder({.file = folder / "record"}, told.callbacks());
    record(recorder, 5);
  }
  umask(before);
  CHECK(told.records == 1);
  CHECK(told.ends == 0);
  CHECK(mode_of(folder / "record") == 0600);
  const std::string text = folder.read("record");
  CHECK(text.find("hunter2") == std::string::npos);
  const Read read = read_all(text);
  CHECK(read.error == "");
  CHECK(read.decisions > 5);
}

TEST_CASE("recording file: two recordings of the same have different keys") {
  const TemporaryFolder folder;
  std::string images[2];
  for (std::string& image : images) {
    Told told;
    FileRecorder recorder({.file = folder / "record"}, told.callbacks());
    image = recorder.text_of(kJobs, {{"spec", {{"secret", "hunter2"}}}});
  }
  CHECK(images[0].find('~') != std::string::npos);
  CHECK(images[0] != images[1]);
}

TEST_CASE("recording file: no link is followed and no file of somebody else is touched") {
  const TemporaryFolder folder;
  const std::string target = folder / "target";
  std::ofstream(target) << "precious";
  fs::create_symlink(target, folder / "record");
  Told told;
  {
    FileRecorder recorder({.file = folder / "record"}, told.callbacks());
    record(recorder, 2);
  }
  CHECK(told.records == 0);
  CHECK(told.ends == 1);
  CHECK(told.why.find("is a symbolic link") != std::string::npos);
  CHECK(folder.read("target") == "precious");

  Told other;
  FileRecorder recorder({.file = target}, other.callbacks());
  CHECK(other.why.find("no recording of muster") != std::string::npos);
  CHECK(folder.read("target") == "precious");
  fs::create_directory(folder / "folder");
  Told third;
  FileRecorder into_folder({.file = folder / "folder"}, third.callbacks());
  CHECK(third.ends == 1);
}

TEST_CASE("recording file: the recording of the process before becomes the older file") {
  const TemporaryFolder folder;
  for (int workloads : {3, 1}) {
    Told told;
    FileRecorder recorder({.file = folder / "record"}, told.callbacks());
    record(recorder, workloads);
  }
  CHECK(read_all(folder.read("record")).batches == 3);
  CHECK(read_all(folder.read("record.1")).batches == 7);
  CHECK(mode_of(folder / "record.1") == 0600);
}

TEST_CASE("recording file: at its limit a new file begins with a snapshot, and both together have a bound") {
  const TemporaryFolder folder;
  {
    Told whole;
    FileRecorder recorder({.file = folder / "whole"}, whole.callbacks());
    record(recorder, 60);
  }
  const uint64_t limit = fs::file_size(folder / "whole") * 7 / 10;
  Told told;
  {
    FileRecorder recorder({.file = folder / "record", .limit = limit}, told.callbacks());
    record(recorder, 60);
  }
  CHECK(told.ends == 0);
  const std::string older = folder.read("record.1"), newer = folder.read("record");
  CHECK(older.size() <= limit);
  CHECK(newer.size() <= limit);
  std::istringstream in(newer);
  recording::Reader reader(in);
  const auto header = reader.header();
  REQUIRE(header.ok());
  CHECK(header->from_snapshot);
  auto first = reader.next();
  REQUIRE(first.ok());
  REQUIRE(first->has_value());
  CHECK((*first)->snapshot);
  size_t workloads = 0;
  for (const auto& [event, at] : (*first)->events) {
    const auto* list = std::get_if<engine::KindListed>(&event);
    if (list != nullptr && list->type == &kWorkloads) workloads = list->objects.size();
  }
  CHECK(workloads > 10);
  CHECK(read_all(newer).error == "");
}

TEST_CASE("recording file: what cannot be written ends the recording once, and never the engine") {
  const TemporaryFolder folder;
  Told told;
  {
    FileRecorder recorder({.file = folder / "absent/record"}, told.callbacks());
    record(recorder, 3);
    CHECK(recorder.text_of(kJobs, json::object()).empty());
  }
  CHECK(told.records == 0);
  CHECK(told.ends == 1);
  CHECK(told.why.find("cannot be made") != std::string::npos);

  // A snapshot that is larger than the limit.
  Told small;
  {
    FileRecorder recorder({.file = folder / "record", .limit = 20'000}, small.callbacks());
    record(recorder, 60);
  }
  CHECK(small.ends == 1);
  CHECK(small.why.find("raise --record-limit") != std::string::npos);
  CHECK(fs::file_size(folder / "record") <= 20'000);

  // A disk that does not keep up.
  Told slow;
  {
    FileRecorder recorder({.file = folder / "slow"}, slow.callbacks(), 100);
    record(recorder, 3);
  }
  CHECK(slow.ends == 1);
  CHECK(slow.why.find("does not keep up") != std::string::npos);
}

TEST_CASE("recording file: a full disk ends the recording") {
  const TemporaryFolder folder;
  RecordingFile file(folder / "record");
  REQUIRE(file.begin().ok());
  file.close();
  // What a disk says that is full or gone.
  const auto written = file.append("text");
  REQUIRE_FALSE(written.ok());
  CHECK(written.error().message.find("cannot be written") != std::string::npos);
}

TEST_CASE("recording limit: a size, of one mebibyte at least") {
  CHECK(*parse_recording_limit("1Gi") == uint64_t{1} << 30);
  CHECK(*parse_recording_limit("1Mi") == uint64_t{1} << 20);
  for (const char* text : {"", "-1", "1Ki", "ten"}) CHECK_FALSE(parse_recording_limit(text).ok());
}

TEST_CASE("recorded settings: the same engine is made from them, and comments are left out") {
  const std::string config =
      "# hunter2\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
      "resources: {excludeResourcePrefixes: [example.com]}\n"
      "waitForPodsReady: {timeout: 7m}\n";
  SettingsFlags flags;
  flags.given["backoffJitter"] = {"0.5"};
  flags.given["groupScheduling"] = {"false"};
  flags.given["concurrentWrites"] = {"7"};
  const auto settings = settings_of_texts({.configuration = config, .kinds = {}}, flags, "muster-system");
  REQUIRE_MESSAGE(settings.ok(), settings.error().message);
  const EngineSurroundings surroundings{.own_namespace = "queues",
                                        .webhook_url = "https://10.0.0.5:9443",
                                        .native_jobsets = true,
                                        .jobset_controller = "system:serviceaccount:a:b",
                                        .keep_webhook_configurations = false};
  const json recorded = recorded_settings(*settings, flags, surroundings);
  CHECK(recorded.dump().find("hunter2") == std::string::npos);
  const auto again = settings_of_recording(recorded, nullptr);
  REQUIRE_MESSAGE(again.ok(), again.error().message);
  const QueueSettings& queues = again->reconcilers.queues;
  CHECK(queues.exclude_resource_prefixes == std::vector<std::string>{"example.com"});
  REQUIRE(queues.wait_for_pods_ready);
  CHECK(queues.wait_for_pods_ready->timeout == std::chrono::minutes(7));
  CHECK(queues.wait_for_pods_ready->requeuing.backoff_jitter == 0.5);
  CHECK_FALSE(again->reconcilers.group_scheduling);
  CHECK(queues.rules.runs_jobsets());
  CHECK(again->reconcilers.own_namespace == "queues");
  CHECK(again->webhooks.url == surroundings.webhook_url);
  CHECK(again->webhooks.jobset_controller == surroundings.jobset_controller);
  CHECK_FALSE(again->keep_webhook_configurations);
  CHECK(again->admissions_at_a_time == 7);
  const std::string other = "";
  const auto changed = settings_of_recording(recorded, &other);
  REQUIRE(changed.ok());
  CHECK(changed->reconcilers.queues.exclude_resource_prefixes.empty());
}

}  // namespace recording_test
