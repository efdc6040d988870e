// Reasons of explain and of Events are rows of two tables (api/texts): no call has a text for one, and no source makes
// an Event but the table.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "test/support/files.h"

namespace reasons_test {

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = muster::test::source_tree();

// The arguments of the call whose parenthesis stands before `begin`, each as written. A comma in a literal is no comma.
std::vector<std::string> arguments_of(const std::string& text, size_t begin) {
  std::vector<std::string> arguments(1);
  int depth = 0;
  char quote = '\0';
  for (size_t at = begin; at < text.size(); ++at) {
    const char letter = text[at];
    if (quote == '\0' && depth == 0 && letter == ')') return arguments;
    if (quote == '\0' && depth == 0 && letter == ',') {
      arguments.emplace_back();
      continue;
    }
    arguments.back() += letter;
    if (quote != '\0') {
      if (letter == '\\' && at + 1 < text.size()) arguments.back() += text[++at];
      if (letter == quote) quote = '\0';
      continue;
    }
    if (letter == '"' || letter == '\'') quote = letter;
    if (letter == '(' || letter == '{' || letter == '[') ++depth;
    if (letter == ')' || letter == '}' || letter == ']') --depth;
  }
  return {};
}

bool has_literal(const std::string& argument) {
  return argument.find('"') != std::string::npos;
}

std::string at_line(const std::string& text, size_t at) {
  return std::to_string(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n') + 1);
}

// The lines of calls that have a text where a reason belongs, and of Events that are made by hand.
std::vector<std::string> faults_in(const std::string& text) {
  // The sentence of an answer is the second argument, the note of an Event the last.
  static const std::regex kCall(
      R"((\.say|\bevent_about(?:_\w+)?|\bevent_on|\brecord_event|(?:\.|->)event)\(|\.regarding = )");
  std::vector<std::string> faults;
  for (std::sregex_iterator it(text.begin(), text.end(), kCall), end; it != end; ++it) {
    const auto begin = static_cast<size_t>(it->position());
    std::vector<std::string> arguments = arguments_of(text, begin + static_cast<size_t>(it->length()));
    if ((*it)[1].matched && !arguments.empty()) {
      if ((*it)[1] == ".say")
        arguments.resize(1);
      else
        arguments.pop_back();
      if (std::none_of(arguments.begin(), arguments.end(), has_literal)) continue;
    }
    faults.push_back(at_line(text, begin));
  }
  return faults;
}

}  // namespace

TEST_CASE("reasons: no source has a text for the reason of an answer or an Event") {
  size_t seen = 0;
  for (const char* room : {"api", "commands", "engine", "explain", "forecast", "jobs", "kinds", "kube", "reconcilers",
                           "runtime", "scheduler", "server", "state"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".cpp" && path.extension() != ".h") continue;
      const std::string name = fs::relative(path, kRoot).string();
      if (name == "api/texts/event_reasons.cpp") continue;
      ++seen;
      for (const std::string& line : faults_in(muster::test::read_file(path)))
        FAIL_CHECK(name << ":" << line << ": a reason is a row of api/texts/explain_reasons.h or event_reasons.h");
    }
  }
  CHECK(seen > 400);
}

TEST_CASE("reasons: a text for a reason is found in each form of a call") {
  for (const char* text : {
           R"(reply.say("NotFound", "There is none.");)",
           R"(reply.say(stopped ? "Stopped" : "Inactive", sentence);)",
           R"(reply.say(std::string("NotFound"), sentence);)",
           R"(plan.events.push_back(event_about(workload, kNormalEvent, "Deleted", note));)",
           R"(remove_pod(*pod, event_about(*pod, "Stopped", message), std::nullopt, plan);)",
           R"(return event_about_version(kJobSets, meta, "Stopped", note);)",
           R"(event_on(owner, "GroupStarted", std::move(note)))",
           R"(draft.record_event("Admitted", "Admitted by " + queue);)",
           R"(record_event("EvictedDueTo" + reason, message);)",
           "write.events = {context.event(\n    \"Stopped\",\n    note)};",
           R"(context.event("Stopped", "one, (two"))",
           R"(callbacks.record({.regarding = job, .reason = "PodsNotReady"});)",
       }) {
    INFO(text);
    CHECK(faults_in(text).size() == 1);
  }
}

TEST_CASE("reasons: sentences, notes and other functions can be texts") {
  for (const char* text : {
           R"(reply.say(ExplainReason::kNotFound, "There is none, (" + name + ").");)",
           R"(reply.say(stopped ? ExplainReason::kStopping : ExplainReason::kBackoff, "It \"stops\", and waits.");)",
           R"(event_about(pod, EventReason::kStopped, "Stopped: " + path_of(pod.meta, "x"));)",
           R"(draft.record_event(event_about(workload, EventReason::kPreempted, "Preempted, and gone"));)",
           R"(context.job.event(EventReason::kStopped, note))",
           R"(say(options, "stopped while waiting for the group");)",
           R"(const ObjectReference& about = event.regarding;)",
       }) {
    INFO(text);
    CHECK(faults_in(text).empty());
  }
}

}  // namespace reasons_test
