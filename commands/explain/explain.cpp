#include "commands/explain/explain.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/meta/names.h"
#include "api/workload.h"
#include "commands/explain/explain_text.h"
#include "commands/explain/fetch_explanation.h"
#include "commands/explain/named_object.h"
#include "commands/explain/priority_text.h"
#include "commands/kubectl/reader.h"
#include "commands/terminal/cli_choice.h"
#include "jobs/naming/named_kind.h"

namespace muster::commands {
namespace {

constexpr Duration kWatchInterval = std::chrono::seconds(2);

// The answer about the first object that exists; otherwise the answer about the first one.
Result<ExplainReply> find_answer(MusterReader& reader, const ExplainOptions& options,
                                 const std::vector<ObjectKey>& targets) {
  std::optional<Result<ExplainReply>> first;
  for (const ObjectKey& target : targets) {
    auto answer = fetch_explanation(reader, target, options.cluster.local);
    if (answer && answer->found) return answer;
    if (!first) first.emplace(std::move(answer));
  }
  return std::move(*first);
}

std::string text_of(const ExplainReply& answer, ExplainFormat format) {
  return format == ExplainFormat::kJson ? to_text(to_json(answer)) + "\n" : explain_text(answer);
}

// Prints changes since the last answer, until no further change is possible.
int watch(MusterReader& reader, const ExplainOptions& options, const std::vector<ObjectKey>& targets, ExplainReply last,
          std::ostream& out, std::ostream& err) {
  std::string failed;
  while (last.found && !last.says(ExplainReason::kFinished)) {
    out.flush();
    kube::system_sleeper().sleep(kWatchInterval, {});
    auto answer = find_answer(reader, options, targets);
    if (!answer) {
      if (std::exchange(failed, answer.error().message) != failed) err << "muster explain: " << failed << "\n";
      continue;
    }
    failed.clear();
    if (is_news(last, *answer))
      out << (options.format == ExplainFormat::kJson ? text_of(*answer, options.format) : news_text(*answer));
    last = std::move(*answer);
  }
  return last.found ? kExplainAnswered : kExplainNoAnswer;
}

// The object that is meant, and muster; or the exit code.
struct Question {
  std::vector<ObjectKey> targets;
  std::unique_ptr<MusterReader> reader;
};
Result<Question, int> read_question(const char* command, const ExplainOptions& options, std::ostream& err) {
  const auto stop = [&](int code, const std::string& why) {
    err << command << ": " << why << "\n";
    return fail_with(code);
  };
  if (const auto known = know_own_kinds(options.cluster); !known) return stop(kExplainUnusable, known.error().message);
  // Errors of the command line are reported first, with or without a cluster.
  const auto target = read_named_object(options.object);
  if (!target) return stop(kExplainUnusable, target.error().message);
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(kExplainNoAnswer, reader.error().message);
  const std::string& ns = (*reader)->ns();
  std::vector<ObjectKey> targets = {{target->type, ns, target->name}};
  if (target->type == nullptr) targets = find_kinds_of((*reader)->api(), ns, target->name);
  return Question{std::move(targets), std::move(*reader)};
}

// The first object that exists, otherwise the first object that muster remembers.
Result<ExplainReply> find_history(MusterReader& reader, const ExplainOptions& options,
                                  const std::vector<ObjectKey>& targets) {
  std::optional<Result<ExplainReply>> first, remembered;
  for (const ObjectKey& target : targets) {
    auto answer = fetch_explanation(reader, target, options.cluster.local);
    if (answer && answer->found) return answer;
    const bool is_remembered = answer && !answer->timeline.empty();
    auto& kept = is_remembered ? remembered : first;
    if (!kept) kept.emplace(std::move(answer));
  }
  return std::move(remembered ? *remembered : *first);
}

Result<ExplainFormat> parse_explain_format(std::string_view text) {
  if (text == "text") return ExplainFormat::kText;
  if (text == "json") return ExplainFormat::kJson;
  return fail("there is no output format \"" + std::string(text) + "\"; there are text and json");
}

// What all commands about one object take.
void add_question(CLI::App& command, ExplainOptions& options) {
  command
      .add_option("object", options.object,
                  "KIND NAME, KIND/NAME, or NAME alone. KIND is one of " + join(jobs::named_kind_words(), ", ") +
                      "; also its plural, and with its group: jobs.batch. The name of a job also names its Workload")
      ->required()
      ->expected(1, 64)
      ->type_name("")
      ->option_text("KIND NAME");
  add_choice(command, "-o,--output", options.format, parse_explain_format, "text (default) or json")
      ->type_name("FORMAT");
  add_cluster_flags(command, options.cluster);
  add_reader_flags(command, options.cluster);
}

}  // namespace

void add_explain(CLI::App& app, ExplainOptions& options) {
  CLI::App& explain =
      *app.add_subcommand("explain",
                          "Say why a job does not run, or why its pods are late. Exit code 0: answered; 1: no "
                          "such object, or no answer; 2: wrong command line");
  add_question(explain, options);
  explain.add_flag("-w,--watch", options.watch, "Print each change until the job is finished");
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
  add_question(command, options);
  command.footer("Examples:\n  kubectl muster history job/train -n team-a\n  muster history train -o json");
}

void add_priority(CLI::App& app, ExplainOptions& options) {
  CLI::App& command = *app.add_subcommand(
      "priority",
      "Say why a pending job has its place in the queue: the terms of the order, of it and of those around it. Exit "
      "code 0: answered; 1: no such object, or no answer; 2: wrong command line");
  add_question(command, options);
  command.footer("Examples:\n  kubectl muster priority job/train -n team-a\n  muster priority train -o json");
}

int priority(const ExplainOptions& options, std::ostream& out, std::ostream& err) {
  const auto question = read_question("muster priority", options, err);
  if (!question) return question.error();
  const auto answer = find_answer(*question->reader, options, question->targets);
  if (!answer) {
    err << "muster priority: " << answer.error().message << "\n";
    return kExplainNoAnswer;
  }
  out << (options.format == ExplainFormat::kJson ? to_text(priority_json(*answer)) + "\n" : priority_text(*answer));
  return answer->found ? kExplainAnswered : kExplainNoAnswer;
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
