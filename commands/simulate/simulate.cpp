#include "commands/simulate/simulate.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/workload.h"
#include "commands/replay/replay.h"
#include "commands/review/review_input.h"
#include "commands/review/review_judge.h"
#include "commands/simulate/check_options.h"
#include "commands/simulate/from_cluster.h"
#include "commands/simulate/page.h"
#include "commands/simulate/run_times.h"
#include "forecast/run.h"
#include "jobs/job_kind.h"
#include "runtime/load_settings.h"
#include "runtime/read_file.h"

namespace muster::commands {
namespace {

using forecast::ScenarioOptions;
using forecast::SourceObject;
using nlohmann::json;

// Of half a year of a cluster with a million jobs.
constexpr size_t kLargestTrace = size_t{512} << 20;

// Objects stored in a cluster have already passed the schema and the webhooks there.
bool is_stored(const json& object) {
  return !string_at(object, {"metadata", "uid"}).empty();
}

ClusterView view_of(const std::vector<InputDocument>& documents) {
  ClusterView view;
  for (const InputDocument& document : documents) {
    json object = document.value;
    (void)to_stored_version(object);
    view.put(object);
  }
  return view;
}

// As the API server and muster's webhooks would store it; an error with place and path where they refuse it.
Result<json> stored_form(const InputDocument& document, const ClusterView& view, const RuleSettings& rules,
                         LineFinder& lines, size_t position) {
  if (document.is_review()) return fail(document.place() + ": an AdmissionReview cannot be simulated");
  json object = document.value;
  if (!is_stored(object)) {
    const json status = object.value("status", json());
    const ReviewedObject reviewed =
        judge_manifest({.object = object, .old_object = nullptr, .position = position}, view, rules);
    if (!reviewed.allowed) {
      for (const ReviewFinding& finding : reviewed.findings) {
        if (finding.is_error)
          return fail(document.file + ":" + std::to_string(lines.line_of(document, finding.field)) + ": " +
                      display_name(document.value) + ": " + finding.text());
      }
      return fail(document.place() + ": " + display_name(document.value) + ": is rejected");
    }
    if (reviewed.printed.is_object()) object = reviewed.printed;
    if (status.is_object()) object["status"] = status;
  }
  if (const auto converted = to_stored_version(object); !converted)
    return fail(document.place() + ": " + display_name(document.value) +
                ": cannot be converted: " + converted.error().message);
  return object;
}

class Simulation {
 public:
  Simulation(const SimulateOptions& options, const ReviewStreams& streams) : options_(options), streams_(streams) {}

  Outcome<> prepare() {
    if (auto checked = check_options(options_); !checked) return checked;
    runtime::SettingsFlags flags;
    flags.config_file = options_.config_file;
    auto settings = runtime::load_settings(flags, std::string(manifests::kDefaultNamespace));
    if (!settings) return fail(settings.error().message);
    const bool native_jobsets = settings->configuration.muster.jobset_controller != JobSetController::kExternal;
    scenario_.settings =
        runtime::reconciler_settings_of(*settings, native_jobsets, std::string(manifests::kDefaultNamespace));
    if (options_.config_file.empty()) {
      for (const jobs::JobKind* kind : jobs::job_kinds())
        scenario_.settings.queues.rules.frameworks.emplace(kind->framework);
      scenario_.settings.queues.watch_nodes = true;
    }
    scenario_.run_time = options_.run_time;
    scenario_.ignore_nodes = options_.ignore_nodes;
    scenario_.stop_time = options_.stop_time;
    scenario_.until = options_.until;
    scenario_.seed = options_.seed.value_or(0);
    if (options_.jobs > 0)
      scenario_.random = forecast::RandomArrivals{
          .seed = scenario_.seed, .jobs = options_.jobs, .over = *options_.over, .spread = options_.spread};
    return read_files();
  }

  Result<Report> simulate(const SourceNames& names) {
    auto objects = read_objects(names);
    if (!objects) return fail(objects.error().message);
    std::optional<AskedJob> asked;
    std::vector<std::string> notes = arrivals_notes_;
    if (options_.from_cluster) {
      if (auto added = add_cluster(*objects, notes); !added) return fail(added.error().message);
    }
    if (!options_.job_file.empty()) {
      auto added = add_job(*objects);
      if (!added) return fail(added.error().message);
      asked = *std::move(added);
      if (asked->is_stored) notes.push_back("The job is there already: the answer is about it, not about the file.");
    }
    std::optional<StartRange> range;
    if (options_.from_cluster) {
      auto of_times = by_known_times(*objects, asked);
      if (!of_times) return fail(of_times.error().message);
      range = *of_times;
    }
    auto read = forecast::read_scenario(*objects, scenario_);
    if (!read) return fail(read.error().message);
    forecast::History history = forecast::run(read->scenario, watcher(read->scenario));
    if (options_.progress) streams_.err << "\n";
    read->notes.insert(read->notes.begin(), notes.begin(), notes.end());
    const std::optional<size_t> number = asked ? number_of(read->scenario, *asked) : std::nullopt;
    if (asked && !number) return fail(options_.job_file + ": the job names no queue, or is over");
    forecast::Summary summary = forecast::summarize(read->scenario, history);
    return Report{.name = name_of(names),
                  .scenario = std::move(read->scenario),
                  .history = std::move(history),
                  .summary = std::move(summary),
                  .notes = std::move(read->notes),
                  .expectations = {},
                  .asked = number,
                  .range = range,
                  .assumed = std::move(read->assumed)};
  }

  Outcome<> check(Report& report) const {
    auto checked = check_expectations(expectations_, report.scenario, report.history, report.summary);
    if (!checked) return fail(options_.expect_file + ": " + checked.error().message);
    report.expectations = *std::move(checked);
    return Done{};
  }

 private:
  static std::string name_of(const SourceNames& names) {
    if (!names.files.empty()) return names.files.front();
    return names.kustomizations.empty() ? "the cluster" : names.kustomizations.front();
  }

  Outcome<> read_files() {
    if (!options_.arrivals_file.empty()) {
      const auto text = runtime::read_file(options_.arrivals_file, kLargestTrace);
      if (!text) return fail(text.error().message);
      auto arrivals = read_arrivals_file(*text);
      if (!arrivals) return fail(options_.arrivals_file + ": " + arrivals.error().message);
      scenario_.table = std::move(arrivals->rows);
      scenario_.table_name = options_.arrivals_file;
      arrivals_notes_ = std::move(arrivals->notes);
    }
    if (!options_.expect_file.empty()) {
      const auto text = runtime::read_file(options_.expect_file);
      if (!text) return fail(text.error().message);
      auto expectations = read_expectations(*text);
      if (!expectations) return fail(options_.expect_file + ": " + expectations.error().message);
      expectations_ = *std::move(expectations);
    }
    return Done{};
  }

  Result<forecast::Trace> read_arrivals_file(const std::string& text) const {
    const std::string ns = options_.cluster.ns.empty() ? "default" : options_.cluster.ns;
    switch (options_.arrivals_format.value_or(forecast::ArrivalsFormat::kCsv)) {
      case forecast::ArrivalsFormat::kHelios:
        return forecast::read_helios(text, ns);
      case forecast::ArrivalsFormat::kPhilly:
        return forecast::read_philly(text, ns);
      case forecast::ArrivalsFormat::kCsv:
        break;
    }
    auto rows = forecast::read_arrivals(text);
    if (!rows) return fail(rows.error().message);
    return forecast::Trace{.rows = *std::move(rows), .notes = {}};
  }

  struct AskedJob {
    std::string kind;
    std::string path;        // "namespace/name"
    bool is_stored = false;  // it has a Workload, which is not over
  };

  static std::optional<size_t> number_of(const forecast::Scenario& scenario, const AskedJob& job) {
    for (size_t i = 0; i < scenario.arrivals.size(); ++i) {
      const forecast::Arrival& arrival = scenario.arrivals[i];
      const bool has_kind = !job.is_stored || scenario.shapes[arrival.shape].kind == job.kind;
      if ((arrival.stored != nullptr) == job.is_stored && has_kind && job_name(scenario, i) == job.path) return i;
    }
    return std::nullopt;
  }

  // Whether this is the Workload, not over, of the job.
  static bool is_workload_of(const json& object, const json& job) {
    if (string_at(object, {"kind"}) != kWorkloads.kind ||
        string_at(object, {"metadata", "namespace"}) != string_at(job, {"metadata", "namespace"}))
      return false;
    const WorkloadPtr workload = read_workload(object);
    if (workload->finished() || workload->meta.deleting || !workload->meta.controller) return false;
    const auto& owner = *workload->meta.controller;
    return owner.kind == string_at(job, {"kind"}) && owner.name == string_at(job, {"metadata", "name"});
  }

  Outcome<> add_cluster(std::vector<SourceObject>& objects, std::vector<std::string>& notes) {
    auto cluster = read_cluster(options_.cluster, !options_.ignore_nodes);
    if (!cluster) return fail(cluster.error().message);
    for (SourceObject& object : cluster->objects) objects.push_back(std::move(object));
    for (std::string& note : cluster->notes) notes.push_back(std::move(note));
    namespace_ = cluster->ns;
    scenario_.start = system_clock().now().wall;
    return Done{};
  }

  // Gives the Workloads the run times that are likely for them. The range of the asked job: from two more simulations,
  // with short and with long ones; nullopt: nothing is known.
  Result<std::optional<StartRange>> by_known_times(std::vector<SourceObject>& objects,
                                                   const std::optional<AskedJob>& asked) const {
    std::vector<SourceObject> given = objects;
    const TimePoint now = *scenario_.start;
    const KnownRunTimes known = give_run_times(objects, 0.5, now);
    StartRange range{.basis = known.basis};
    if (!asked || range.basis == StartBasis()) return std::optional<StartRange>();
    for (const auto& [share, start] : {std::pair(0.1, &range.earliest), std::pair(0.9, &range.latest)}) {
      std::vector<SourceObject> varied = given;
      give_run_times(varied, share, now);
      auto read = forecast::read_scenario(varied, scenario_);
      if (!read) return fail(read.error().message);
      const auto number = number_of(read->scenario, *asked);
      if (!number) continue;
      *start = forecast::run(read->scenario).jobs[*number].first_start;
      const Workload& workload = *read->scenario.shapes[read->scenario.arrivals[*number].shape].workload;
      const auto finished = known.finished.find(path_of(workload.meta.ns, workload.queue_name));
      if (finished != known.finished.end()) range.basis.finished = finished->second;
    }
    return std::optional(range);
  }

  // A job that already waits or runs is not added again.
  Result<AskedJob> add_job(std::vector<SourceObject>& objects) {
    auto jobs = read_objects({.files = {options_.job_file}});
    if (!jobs) return fail(jobs.error().message);
    if (jobs->size() != 1) return fail(options_.job_file + ": must hold one job");
    json& job = jobs->front().value;
    if (string_at(job, {"metadata", "name"}).empty()) return fail(options_.job_file + ": the job has no name");
    if (string_at(job, {"metadata", "namespace"}).empty()) job["metadata"]["namespace"] = namespace_;
    AskedJob asked{.kind = std::string(string_at(job, {"kind"})),
                   .path = path_of(string_at(job, {"metadata", "namespace"}), string_at(job, {"metadata", "name"}))};
    asked.is_stored = std::any_of(objects.begin(), objects.end(),
                                  [&](const SourceObject& object) { return is_workload_of(object.value, job); });
    if (!asked.is_stored) objects.push_back(jobs->front());
    return asked;
  }

  Result<std::vector<SourceObject>> read_objects(const SourceNames& names) {
    if (names.files.empty() && names.kustomizations.empty()) return std::vector<SourceObject>();
    const auto sources = read_sources(names, streams_.in);
    if (!sources) return fail(sources.error().message);
    const auto documents = read_documents(*sources);
    if (!documents) return fail(documents.error().message);
    const ClusterView view = view_of(*documents);
    LineFinder lines;
    std::vector<SourceObject> objects;
    for (const InputDocument& document : *documents) {
      auto object = stored_form(document, view, scenario_.settings.queues.rules, lines, objects.size());
      if (!object) return fail(object.error().message);
      objects.push_back({.place = document.place(), .value = *std::move(object)});
    }
    return objects;
  }

  forecast::Watcher watcher(const forecast::Scenario& scenario) {
    if (!options_.progress) return {};
    return [&streams = streams_, all = scenario.arrivals.size()](const forecast::Progress& progress) {
      streams.err << "\r" << span_text(std::chrono::duration<double>(progress.elapsed).count()) << ": " << progress.come
                  << " of " << all << " jobs have arrived, " << progress.over << " are over   " << std::flush;
    };
  }

  const SimulateOptions& options_;
  const ReviewStreams& streams_;
  ScenarioOptions scenario_;
  std::string namespace_ = "default";
  std::vector<std::string> arrivals_notes_;
  std::vector<Expectation> expectations_;
};

Outcome<> write_page(const std::string& file, const std::string& text) {
  std::ofstream page(file, std::ios::binary | std::ios::trunc);
  page << text;
  page.close();
  if (!page) return fail(file + ": cannot be written");
  return Done{};
}

bool all_hold(const Report& report) {
  for (const CheckedExpectation& checked : report.expectations) {
    if (!checked.holds) return false;
  }
  return true;
}

std::string text_of(const Report& report, SimulateFormat format) {
  switch (format) {
    case SimulateFormat::kTable:
      return (report.asked ? verdict_text(report) + "\n" : "") + report_table(report);
    case SimulateFormat::kJson:
      return to_text(report_json(report)) + "\n";
    case SimulateFormat::kYaml:
      return write_yaml(report_json(report));
    case SimulateFormat::kCsv:
      return report_csv(report);
    case SimulateFormat::kJunit:
      break;
  }
  return report_junit(report);
}

std::string text_of(const Report& before, const Report& after, SimulateFormat format) {
  if (format == SimulateFormat::kTable) return comparison_table(before, after);
  if (format == SimulateFormat::kJson) return to_text(comparison_json(before, after)) + "\n";
  if (format == SimulateFormat::kYaml) return write_yaml(comparison_json(before, after));
  return report_junit(after);
}

}  // namespace

int simulate(const SimulateOptions& options, ReviewStreams streams) {
  if (!options.replay_file.empty()) {
    if (!is_replay_alone(options)) {
      streams.err << "muster simulate: --replay takes a recording, --config, --differences and -o table, json or yaml; "
                     "leave the other options out\n";
      return kSimulateUnusable;
    }
    return replay({.file = options.replay_file,
                   .config_file = options.config_file,
                   .most_differences = options.most_differences,
                   .format = options.format == SimulateFormat::kJson   ? ReplayFormat::kJson
                             : options.format == SimulateFormat::kYaml ? ReplayFormat::kYaml
                                                                       : ReplayFormat::kTable},
                  streams);
  }
  const auto stop = [&](const Error& error) {
    streams.err << "muster simulate: " << error.message << "\n";
    return kSimulateUnusable;
  };
  Simulation simulation(options, streams);
  if (auto prepared = simulation.prepare(); !prepared) return stop(prepared.error());
  auto report = simulation.simulate(options.sources);
  if (!report) return stop(report.error());
  if (options.compared.files.empty()) {
    if (auto checked = simulation.check(*report); !checked) return stop(checked.error());
    if (!options.page_file.empty()) {
      if (auto written = write_page(options.page_file, report_page(*report)); !written) return stop(written.error());
    }
    streams.out << text_of(*report, options.format);
    return all_hold(*report) ? kSimulateHolds : kSimulateFails;
  }
  auto after = simulation.simulate(options.compared);
  if (!after) return stop(after.error());
  if (auto checked = simulation.check(*after); !checked) return stop(checked.error());
  if (!options.page_file.empty()) {
    if (auto written = write_page(options.page_file, comparison_page(*report, *after)); !written)
      return stop(written.error());
  }
  streams.out << text_of(*report, *after, options.format);
  return all_hold(*after) ? kSimulateHolds : kSimulateFails;
}

}  // namespace muster::commands
