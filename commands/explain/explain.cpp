#include "commands/explain/explain.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "commands/explain/explain_text.h"
#include "commands/explain/explain_unqueued.h"
#include "commands/explain/fetch_explanation.h"
#include "commands/kubectl/reader.h"
#include "commands/terminal/cli_choice.h"

namespace muster::commands {
namespace {

constexpr Duration kWatchInterval = std::chrono::seconds(2);

// The object of the question: an object of a kind that muster queues (`type`), or of another kind.
struct Target {
  const ResourceType* type;
  const UnqueuedKind* unqueued;
  std::string ns, name;
};

// A name without a kind is of the first of these kinds that has such an object.
constexpr const char* kKindsOfBareNames[] = {"job", "jobset", "workload"};

Result<Target> read_target(const std::string& kind, const std::string& name) {
  Target target{explainable_type(kind), find_unqueued_kind(kind), {}, name};
  if (target.type == nullptr && target.unqueued == nullptr)
    return fail("\"" + kind + "/" + name + "\" is not job/NAME, jobset/NAME or workload/NAME");
  if (const auto wrong = is_dns1123_subdomain(name); !wrong.empty())
    return fail("no object can be named \"" + name + "\": " + join(wrong, "; "));
  return target;
}

// {"job", "train"}, {"job/train"} or {"train"}, the most likely kind first; the namespace is added later.
Result<std::vector<Target>> read_targets(const std::vector<std::string>& words) {
  if (words.size() > 2) return fail("name one object, as job NAME, and not " + std::to_string(words.size()) + " words");
  std::string kind, name = words.back();
  if (words.size() == 2) {
    kind = words[0];
  } else if (const size_t slash = name.find('/'); slash != std::string::npos) {
    kind = name.substr(0, slash);
    name = name.substr(slash + 1);
  }
  std::vector<Target> targets;
  if (!kind.empty()) {
    auto target = read_target(kind, name);
    if (!target) return fail(target.error().message);
    targets.push_back(std::move(*target));
    return targets;
  }
  for (const char* each : kKindsOfBareNames) {
    auto target = read_target(each, name);
    if (!target) return fail(target.error().message);
    targets.push_back(std::move(*target));
  }
  return targets;
}

Result<ExplainReply> find_answer(MusterReader& reader, const ExplainOptions& options, const Target& target) {
  if (target.type == nullptr) return ask_about_unqueued(reader.api(), *target.unqueued, target.ns, target.name);
  return fetch_explanation(reader, {target.type, target.ns, target.name}, options.cluster.local);
}

// The answer about the first object that exists; otherwise the answer about the first one.
Result<ExplainReply> find_answer(MusterReader& reader, const ExplainOptions& options,
                                 const std::vector<Target>& targets) {
  std::optional<Result<ExplainReply>> first;
  for (const Target& target : targets) {
    auto answer = find_answer(reader, options, target);
    if (answer && answer->found) return answer;
    if (!first) first.emplace(std::move(answer));
  }
  return std::move(*first);
}

std::string text_of(const ExplainReply& answer, ExplainFormat format) {
  return format == ExplainFormat::kJson ? to_text(to_json(answer)) + "\n" : explain_text(answer);
}

// Prints changes since the last answer, until no further change is possible.
int watch(MusterReader& reader, const ExplainOptions& options, const std::vector<Target>& targets, ExplainReply last,
          std::ostream& out, std::ostream& err) {
  std::string failed;
  while (last.found && last.reason != "Finished") {
    out.flush();
    kube::system_sleeper().sleep(kWatchInterval, {});
    auto answer = find_answer(reader, options, targets);
    if (!answer) {
      if (std::exchange(failed, answer.error().message) != failed) err << "muster explain: " << failed << "\n";
      continue;
    }
    failed.clear();
    if (answer->headline != last.headline)
      out << (options.format == ExplainFormat::kJson ? text_of(*answer, options.format)
                                                     : format_rfc3339(answer->at) + "  " + answer->headline + "\n");
    last = std::move(*answer);
  }
  return last.found ? kExplainAnswered : kExplainNoAnswer;
}

// The object that is meant, and muster; or the exit code.
struct Question {
  std::vector<Target> targets;
  std::unique_ptr<MusterReader> reader;
};
Result<Question, int> read_question(const char* command, const ExplainOptions& options, std::ostream& err) {
  const auto stop = [&](int code, const std::string& why) {
    err << command << ": " << why << "\n";
    return fail_with(code);
  };
  // Errors of the command line are reported first, with or without a cluster.
  auto targets = read_targets(options.object);
  if (!targets) return stop(kExplainUnusable, targets.error().message);
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(kExplainNoAnswer, reader.error().message);
  for (Target& target : *targets) target.ns = (*reader)->ns();
  return Question{std::move(*targets), std::move(*reader)};
}

// The first object that exists, otherwise the first object that muster remembers.
Result<ExplainReply> find_history(MusterReader& reader, const ExplainOptions& options,
                                  const std::vector<Target>& targets) {
  std::optional<Result<ExplainReply>> first, remembered;
  for (const Target& target : targets) {
    auto answer = find_answer(reader, options, target);
    if (answer && answer->found) return answer;
    const bool is_remembered = answer && !answer->timeline.empty();
    auto& kept = is_remembered ? remembered : first;
    if (!kept) kept.emplace(std::move(answer));
  }
  return std::move(remembered ? *remembered : *first);
}

// The output of `-o json`: the history part of the explanation.
nlohmann::json history_json(const ExplainReply& answer) {
  nlohmann::json whole = to_json(answer);
  return {{"object", whole["object"]},
          {"found", whole["found"]},
          {"at", whole["at"]},
          {"notes", whole["notes"]},
          {"moments", whole["timeline"]}};
}

Result<ExplainFormat> parse_explain_format(std::string_view text) {
  if (text == "text") return ExplainFormat::kText;
  if (text == "json") return ExplainFormat::kJson;
  return fail("there is no output format \"" + std::string(text) + "\"; there are text and json");
}

}  // namespace

void add_explain(CLI::App& app, ExplainOptions& options) {
  CLI::App& explain = *app.add_subcommand(
      "explain",
      "Say why a job does not run, or why its pods are late. Exit code 0: answered; 1: no such object, or no "
      "answer; 2: wrong command line");
  explain
      .add_option("object", options.object,
                  "job NAME, jobset NAME or workload NAME, also as job/NAME; a bare NAME is of a job, a JobSet or a "
                  "Workload; for other kinds the output says that muster does not queue them")
      ->required()
      ->expected(1, 64)
      ->type_name("")
      ->option_text("KIND NAME");
  add_choice(explain, "-o,--output", options.format, parse_explain_format, "text (default) or json")
      ->type_name("FORMAT");
  explain.add_flag("-w,--watch", options.watch, "Print each change until the job is finished");
  add_cluster_flags(explain, options.cluster);
  add_reader_flags(explain, options.cluster);
  explain.footer(
      "Examples:\n  kubectl muster explain job train -n team-a\n  kubectl muster explain train -w\n"
      "  muster explain workload/job-train-1a2b3 -o json");
}

int explain(const ExplainOptions& options, std::ostream& out, std::ostream& err) {
  const auto question = read_question("muster explain", options, err);
  if (!question) return question.error();
  const auto answer = find_answer(*question->reader, options, question->targets);
  if (!answer) {
    err << "muster explain: " << answer.error().message << "\n";
    return kExplainNoAnswer;
  }
  out << text_of(*answer, options.format);
  if (options.watch) return watch(*question->reader, options, question->targets, *answer, out, err);
  return answer->found ? kExplainAnswered : kExplainNoAnswer;
}

void add_history(CLI::App& app, ExplainOptions& options) {
  CLI::App& command = *app.add_subcommand(
      "history",
      "Say what has happened to a job: when it waited and why, got quota, ran, was evicted; for a day after its end "
      "too. Exit code 0: answered; 1: nothing is known of it, or no answer; 2: wrong command line");
  command.add_option("object", options.object, "job NAME, jobset NAME or workload NAME, also as job/NAME")
      ->required()
      ->expected(1, 64)
      ->type_name("")
      ->option_text("KIND NAME");
  add_choice(command, "-o,--output", options.format, parse_explain_format, "text (default) or json")
      ->type_name("FORMAT");
  add_cluster_flags(command, options.cluster);
  add_reader_flags(command, options.cluster);
  command.footer("Examples:\n  kubectl muster history job/train -n team-a\n  muster history train -o json");
}

int history(const ExplainOptions& options, std::ostream& out, std::ostream& err) {
  const auto question = read_question("muster history", options, err);
  if (!question) return question.error();
  const auto answer = find_history(*question->reader, options, question->targets);
  if (!answer) {
    err << "muster history: " << answer.error().message << "\n";
    return kExplainNoAnswer;
  }
  out << (options.format == ExplainFormat::kJson ? to_text(history_json(*answer)) + "\n" : history_text(*answer));
  return answer->timeline.empty() ? kExplainNoAnswer : kExplainAnswered;
}

}  // namespace muster::commands
