#include "commands/replay/replay.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "engine/recording/reader.h"
#include "runtime/read_file.h"
#include "runtime/recording/recorded_settings.h"

namespace muster::commands {
namespace {

Result<ReplayReport> run(const ReplayOptions& options, std::istream& in) {
  recording::Reader reader(in);
  const auto header = reader.header();
  if (!header) return fail(header.error().message);
  std::string other;
  if (!options.config_file.empty()) {
    auto text = runtime::read_file(options.config_file);
    if (!text) return fail(text.error().message);
    other = *std::move(text);
  }
  const auto settings =
      runtime::settings_of_recording(header->settings, options.config_file.empty() ? nullptr : &other);
  if (!settings)
    return fail((options.config_file.empty() ? "the recorded configuration" : options.config_file) + ": " +
                settings.error().message);
  recording::Replay decided(*settings, options.most_differences);
  for (;;) {
    const auto batch = reader.next();
    if (!batch) return fail(batch.error().message);
    if (!*batch) break;
    decided.take(**batch);
  }
  return ReplayReport{.header = *header, .result = decided.finish(), .torn = reader.torn(), .bytes = reader.bytes()};
}

std::string text_of(const ReplayReport& report, ReplayFormat format) {
  if (format == ReplayFormat::kJson) return to_text(replay_json(report)) + "\n";
  return format == ReplayFormat::kYaml ? write_yaml(replay_json(report)) : replay_table(report);
}

}  // namespace

int replay(const ReplayOptions& options, ReviewStreams streams) {
  const auto stop = [&](const std::string& why) {
    streams.err << "muster simulate: --replay " << options.file << ": " << why << "\n";
    return kReplayUnreadable;
  };
  std::ifstream file;
  if (options.file != "-") {
    file.open(options.file, std::ios::binary);
    if (!file) return stop("cannot be opened");
  }
  const auto report = run(options, options.file == "-" ? streams.in : file);
  if (!report) return stop(report.error().message);
  streams.out << text_of(*report, options.format);
  return report->result.equal() ? kReplayEqual : kReplayDifferent;
}

}  // namespace muster::commands
