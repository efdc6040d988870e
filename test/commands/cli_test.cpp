// The command line: plain sentences for what is wrong, and nothing that ends the process.
#include "commands/cli.h"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "api/config/muster_settings.h"
#include "commands/foreign_flags.h"
#include "test/support/temporary_folder.h"

namespace cli_test {

using namespace muster;
using namespace muster::commands;

namespace {

struct Ran {
  int code;
  std::string out, err;
};

Ran run(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = run_command_line(arguments, {in, out, err});
  return {code, out.str(), err.str()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("command line: flags of Kueue's and JobSet's controllers are accepted, and serve says what acts instead") {
  CLI::App app;
  std::vector<std::string> notes;
  add_foreign_flags(app, notes);
  app.parse(
      "--leader-elect --kube-api-qps=50 --kube-api-burst 100 --zap-devel=false --zap-log-level=2 --zap-encoder json");
  CHECK(notes == std::vector<std::string>{
                     "--leader-elect has no effect: leaderElection.leaderElect of the Configuration acts instead "
                     "(default: true)",
                     "--kube-api-qps has no effect: clientConnection.qps of the Configuration acts instead",
                     "--kube-api-burst has no effect: clientConnection.burst of the Configuration acts instead",
                     "--zap-log-level has no effect: --log-level acts instead (debug, info, warning, error)",
                     "--zap-devel has no effect: --log-format acts instead (text, json)",
                     "--zap-encoder has no effect: --log-format acts instead (text, json)"});
  CHECK(app.help().find("zap") == std::string::npos);
  CHECK(run({"serve", "--leader-elect=false", "--zap-log-level=debug", "--help"}).code == 0);
}

TEST_CASE("command line: what is wrong is said in a sentence, with exit code 2") {
  struct Row {
    std::vector<std::string> arguments;
    const char* message;
  };
  const Row rows[] = {
      {{}, "muster: a command is missing; the commands are serve, review, simulate, manifests, explain"},
      {{"reviwe"}, "there is no command \"reviwe\"; the commands are serve, review"},
      {{"reviwe"}, "did you mean \"review\"?"},
      {{"completely", "different"}, "there is no command \"completely\""},
      {{"--no-such-flag"}, "there is no flag --no-such-flag"},
      {{"review", "-f", "-", "-o", "wrong"}, "there is no output format \"wrong\"; there are yaml, json, patch, table"},
      {{"review", "-f", "-", "-o", "tabel"}, "did you mean \"table\"?"},
      {{"review", "-f", "-", "-o", "1"}, "there is no output format \"1\""},
      {{"review", "-f", "-", "--operation", "0"}, "there is no operation \"0\"; there are CREATE, UPDATE and DELETE"},
      {{"review", "-f", "-", "--operation", "update"}, "did you mean \"UPDATE\"?"},
      {{"review", "-f", "-", "--recursiv"}, "review: there is no flag --recursiv; did you mean \"--recursive\"?"},
      {{"review"}, "name what to review: -f FILE"},
      {{"manifests", "extra"}, "manifests: the argument \"extra\" is not expected here"},
      {{"manifests", "--config", "/"}, "/: cannot be read; is it a folder?"},
      {{"review", "-f", "-", "--config", "/"}, "/: cannot be read; is it a folder?"},
      {{"explain", "configmap/x"}, "muster knows no kind \"configmap\"; the kinds are job, jobset, workload"},
      {{"explain", "job/UPPER"}, "no object can be named \"UPPER\""},
      {{"explain", "job", "x", "y"}, "name one object, as job NAME, and not 3 words"},
      {{"explain", "configmap", "x"}, "muster knows no kind \"configmap\"; the kinds are job, jobset, workload"},
      {{"explain", "job", "x", "-n", "Team"}, "no namespace can be named \"Team\""},
      {{"explain", "job", "x", "--request-timeout", "soon"}, "a timeout is a duration as 10s or 1m"},
      {{"explain", "job", "x", "--as", "a\nb"}, "without control characters"},
      {{"explain", "job", "x", "--as-group", "a"}, "--as"},
      {{"gett", "jobs"}, "did you mean \"get\"?"},
      {{"get", "jops"},
       "there is no list of \"jops\"; there are workloads, jobs, queues, clusterqueues, cohorts; did you mean "
       "\"jobs\"?"},
      {{"get", "queues", "-q", "x"}, "--queue and --clusterqueue are for workloads and jobs"},
      {{"get", "jobs", "--state", "Pnding"}, "did you mean \"Pending\"?"},
      {{"get", "jobs", "--state", ""}, "must not be empty"},
      {{"get", "jobs", "--sort-by", "age"}, "there is no order \"age\""},
      {{"get", "jobs", "-l", "a b"}, "labelSelector: there is \"b\""},
      {{"get", "queues", "--mine"}, "--mine, --selector, --state, --search, --finished and --sort-by are for"},
      {{"get", "clusterqueues", "--search", "x"}, "are for workloads and jobs"},
      {{"get", "jobs", "-A", "-q", "x"}, "--queue is of one namespace"},
      {{"get", "jobs", "-w", "-o", "json"}, "--watch prints tables"},
      {{"get", "jobs", "-o", "jsonpath={.items}"}, "there is no output format"},
      {{"top", "pods"}, "top shows queues or clusterqueues"},
      {{"who", "cpu"}, "name the queue: -q QUEUE"},
      {{"stop", "flavor", "x"},
       "\"flavor\" cannot be stopped; clusterqueue, localqueue, workload and a kind of job can"},
      {{"stop", "workload", "x", "--keep-already-running"}, "--keep-already-running is for queues"},
      {{"stop", "cq", "x", "--dry-run=maybe"}, "--dry-run is client, server or none"},
      {{"create", "clusterqueue", "X"}, "no object can be named \"X\""},
      {{"create", "clusterqueue", "x", "--nominal-quota", "spot"}, "--nominal-quota: \"spot\" is not FLAVOR:"},
      {{"create", "clusterqueue", "x", "--queuing-strategy", "Fifo"}, "is one of BestEffortFIFO, StrictFIFO"},
      {{"preflight", "-o", "wide"}, "there is no output format \"wide\"; there are table, json and yaml"},
      {{"preflight", "-f", "/no/such/dump"}, "/no/such/dump"},
      {{"adopt", "--undo", "--jobset"}, "--jobset"},
      {{"adopt", "--timeout", "soon"}, "a time to wait is a duration as 30s or 5m"},
      {{"adopt", "--muster-namespace", "Upper"}, "no namespace can be named \"Upper\""},
      {{"doctor", "-o", "wide"}, "there is no output format \"wide\"; there are table, json and yaml"},
      {{"status", "--wait", "--timeout", "soon"}, "a time to wait is a duration as 30s or 5m"},
      {{"status", "--timeout", "1m"}, "--timeout requires --wait"},
      {{"sysdump"}, "sysdump: target is required"},
      {{"completion", "tcsh"}, "there is no completion for \"tcsh\""},
      {{"explain", "job/x", "-o", "yaml"}, "there is no output format \"yaml\"; there are text and json"},
  };
  for (const Row& row : rows) {
    const Ran ran = run(row.arguments);
    INFO(ran.err);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(has(ran.err, row.message));
    for (const char* leaked : {"Check", "FAILED", "Validator", "{json"}) CHECK_FALSE(has(ran.err, leaked));
  }
}

TEST_CASE("command line: help and version are printed with exit code 0") {
  for (const char* flag : {"--version", "version"}) {
    const Ran ran = run({flag});
    CHECK(ran.code == 0);
    CHECK(ran.out.starts_with("muster "));
  }
  CHECK(has(run({"--help"}).out, "review"));
  CHECK(has(run({"review", "--help"}).out, "--recursive"));
  CHECK(run({"review", "--help"}).code == 0);
}

namespace {

// A kustomization needs a program: while this lives, there is none.
class WithoutPrograms {
 public:
  WithoutPrograms() { ::setenv("PATH", "/nowhere", 1); }
  ~WithoutPrograms() { ::setenv("PATH", before_.c_str(), 1); }
  WithoutPrograms(const WithoutPrograms&) = delete;
  WithoutPrograms& operator=(const WithoutPrograms&) = delete;

 private:
  std::string before_ = std::getenv("PATH") ? std::getenv("PATH") : "";
};

}  // namespace

TEST_CASE("command line: whatever arguments and input are given to review, it ends with 0, 1 or 2") {
  const WithoutPrograms none;
  test::TemporaryFolder folder;
  folder.write("a.yaml", "apiVersion: v1\nkind: List\nitems: 7\n");
  const std::vector<std::string> words = {
      "-f",
      "-",
      "-f",
      ".",
      "-R",
      "-o",
      "json",
      "table",
      "sarif",
      "junit",
      "patch",
      "--operation",
      "UPDATE",
      "DELETE",
      "CREATE",
      "--old",
      folder.path().string(),
      folder / "a.yaml",
      "--config",
      "/dev/null",
      "--as",
      "",
      "\xff\xfe",
      "-k",
      "--",
      "=",
      "--output=",
      "-fff",
      "--filename=-",
      "---",
      "-oyaml",
      "0",
      "\n",
      "https://a",
      "/proc/self/mem",
      "/root",
  };
  const std::vector<std::string> pieces = {
      "apiVersion: ",
      "kueue.x-k8s.io/v1beta1",
      "kueue.x-k8s.io/v1beta2",
      "batch/v1",
      "jobset.x-k8s.io/v1alpha2",
      "\nkind: ",
      "ClusterQueue",
      "Workload",
      "LocalQueue",
      "Job",
      "JobSet",
      "List",
      "Namespace",
      "AdmissionReview",
      "\nmetadata: ",
      "{name: a}",
      "{name: {}, labels: []}",
      "7",
      "null",
      "\nspec: ",
      "{}",
      "[]",
      "[[[[",
      "{resourceGroups: [{coveredResources: 1, flavors: [null, {resources: {}}]}]}",
      "{podSets: [{template: 3}]}",
      "{replicatedJobs: [{name: 1, replicas: -1e400, template: {spec: []}}]}",
      "\nstatus: ",
      "\nitems: ",
      "- ",
      "\n---\n",
      "\nrequest: ",
      "{uid: u, operation: CREATE, object: 5}",
      "&a ",
      "*a",
      "\t",
      "\x01",
      "\"",
      "9999999999999999999999",
  };
  std::mt19937 random(20261122);
  const auto pick = [&](const std::vector<std::string>& from) { return from[random() % from.size()]; };
  int used = 0;
  for (int round = 0; round < 1500; ++round) {
    std::vector<std::string> arguments = {"review"};
    // Half of the runs get as far as the input.
    if (round % 2) arguments.insert(arguments.end(), {"-f", "-"});
    for (size_t i = random() % 5; i > 0; --i) arguments.push_back(pick(words));
    std::string input =
        round % 3 ? "apiVersion: kueue.x-k8s.io/v1beta1\nkind: " + pick({"ClusterQueue", "Workload"}) : "";
    for (size_t i = random() % 12; i > 0; --i) input += pick(pieces);
    const Ran ran = run(arguments, input);
    std::string shown;
    for (const std::string& argument : arguments) shown += " " + argument;
    INFO(shown, "\n", input, "\n", ran.err);
    REQUIRE(ran.code >= 0);
    REQUIRE(ran.code <= 2);
    if (ran.code == 2) CHECK_FALSE(ran.err.empty());
    used += ran.code != 2;
  }
  CHECK(used > 20);
}

TEST_CASE(
    "command line: each setting of muster is a flag of serve, and a text that the file could not hold is refused") {
  const std::string serve = run({"serve", "--help"}).out, manifests = run({"manifests", "--help"}).out;
  for (const MusterSetting& setting : muster_settings()) {
    INFO(setting.name);
    const std::string flag(setting.flag);
    CHECK(has(serve, "  " + flag + " "));
    CHECK(has(manifests, "  " + flag + " ") == setting.fits_manifests);
    if (setting.value.form == SettingForm::kSwitch) CHECK(has(serve, "  " + flag_of(setting, false) + " "));
  }
  CHECK(has(serve, "as a fraction of the backoff; default: 0.1\n"));
  CHECK(has(serve, "json or text; default: text on a terminal, else json\n"));
  CHECK(has(serve, "Jobs can start as a group (default)\n"));
  CHECK(has(serve, "At muster's own port alone (default)\n"));
  struct Row {
    std::vector<std::string> arguments;
    const char* message;
  };
  const Row rows[] = {
      {{"serve", "--suspend-guard", "maybe"}, "serve: --suspend-guard: must be enforce (reject) or observe"},
      {{"serve", "--log-format", "xml"}, "serve: --log-format: must be json or text"},
      {{"serve", "--admitters", ""}, "serve: --admitters: must not be empty"},
      {{"manifests", "--unqueued-kinds", "deny"}, "manifests: --unqueued-kinds: must be Warn or Deny"},
      {{"manifests", "--log-format=json"}, "manifests: there is no flag --log-format"},
  };
  for (const Row& row : rows) {
    const Ran ran = run(row.arguments);
    CHECK(ran.code == 2);
    CHECK_MESSAGE(has(ran.err, row.message), ran.err);
  }
}

namespace {

// As the message for a missing command names them; "create" has commands below it.
std::vector<std::vector<std::string>> all_commands() {
  const std::string known = run({}).err, begin = "the commands are ";
  std::istringstream names(known.substr(known.find(begin) + begin.size(), known.find('\n') - known.find(begin)));
  std::vector<std::vector<std::string>> commands;
  for (std::string name; std::getline(names, name, ',');) {
    name = name.substr(name.find_first_not_of(' '));
    commands.push_back({name.substr(0, name.find('\n'))});
  }
  for (const char* below : {"clusterqueue", "localqueue", "resourceflavor"}) commands.push_back({"create", below});
  return commands;
}

// CLI11's own terms, which mean nothing to a user.
void check_plain(const std::string& text) {
  for (const char* leaked :
       {"{", "INT in", "FLOAT in", "Could not convert", "TEXT missing", "required TEXT", "FAILED"}) {
    INFO(leaked);
    CHECK_MESSAGE(!has(text, leaked), text);
  }
}

// The long flags that a help lists.
std::set<std::string> flags_in(const std::string& help) {
  static const std::regex kFlag("\n  [^\n]*?(--[a-z][a-z0-9-]*)");
  std::set<std::string> flags;
  for (std::sregex_iterator found(help.begin(), help.end(), kFlag), end; found != end; ++found)
    flags.insert((*found)[1].str());
  flags.erase("--help");
  return flags;
}

}  // namespace

TEST_CASE("command line: the help of each command has examples, and no terms of a library") {
  const auto commands = all_commands();
  CHECK(commands.size() > 18);
  check_plain(run({"--help"}).out);
  for (std::vector<std::string> command : commands) {
    INFO(command.back());
    const bool has_commands = command.size() == 1 && command[0] == "create";
    command.emplace_back("--help");
    const Ran ran = run(command);
    CHECK(ran.code == 0);
    check_plain(ran.out);
    if (!has_commands) CHECK(has(ran.out, "Example"));
  }
  CHECK(has(run({"serve", "--help"}).out, "schedule jobs"));
}

TEST_CASE("command line: a wrong value of any flag is refused in plain words") {
  size_t tried = 0;
  for (const std::vector<std::string>& command : all_commands()) {
    std::vector<std::string> asked = command;
    asked.emplace_back("--help");
    for (const std::string& flag : flags_in(run(asked).out)) {
      for (const std::string& wrong : {flag + "=-99999999999999999999x", flag + "=", flag}) {
        // One is unknown, so that no command runs.
        std::vector<std::string> words = command;
        words.insert(words.end(), {"--no-such-flag", wrong});
        const Ran ran = run(words);
        INFO(command.back(), " ", wrong);
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        check_plain(ran.err);
        ++tried;
      }
    }
  }
  CHECK(tried > 300);
  struct Row {
    std::vector<std::string> arguments;
    const char* message;
  };
  const Row rows[] = {
      {{"dashboard", "--port", "99999"}, "dashboard: --port: \"99999\" is no number, or one that is too large"},
      {{"serve", "--workers", "0"}, "serve: --workers: must be a whole number from 1 to 256"},
      {{"simulate", "--jobs", "many"}, "simulate: --jobs: must be a whole number from 1 to 20000000"},
      {{"simulate", "--spread", "6"}, "simulate: --spread: must be a number from 0 to 5"},
      {{"simulate", "--seed", "-1"}, "simulate: --seed: must be a whole number from 0 to "},
      {{"manifests", "--no-v1beta1=-99999999999999999999"}, "the value of a flag is a number that is too large"},
      {{"explain", "job/x", "--context"}, "explain: --context: a value is missing"},
  };
  for (const Row& row : rows) {
    const Ran ran = run(row.arguments);
    CHECK(ran.code == 2);
    CHECK_MESSAGE(has(ran.err, row.message), ran.err);
  }
}

}  // namespace cli_test
