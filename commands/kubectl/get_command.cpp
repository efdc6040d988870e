#include "commands/kubectl/get_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/meta/submitter.h"
#include "base/did_you_mean.h"
#include "commands/kubectl/leader_state.h"
#include "commands/kubectl/own_session.h"
#include "commands/terminal/cli_choice.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr Duration kWatchInterval = std::chrono::seconds(2);

Result<std::string> parse_get_kind(std::string_view text) {
  if (find_get_kind(text)) return std::string(text);
  return fail("there is no list of \"" + std::string(text) + "\"; there are " + join(get_kinds(), ", ") +
              did_you_mean(text, get_kinds()));
}

void print_notes(const FetchedList& fetched, std::ostream& err) {
  err << alarm_line(fetched.alarm);
  for (const std::string& note : fetched.notes) err << "(" << note << ")\n";
}

int stop(std::ostream& err, const char* command, int code, const std::string& why) {
  err << "muster " << command << ": " << why << "\n";
  return code;
}

// Only the items with these names; a missing name is an error.
Result<json> only(json list, const std::vector<std::string>& names, bool jobs) {
  if (names.empty()) return list;
  json items = json::array();
  for (const std::string& name : names) {
    bool found = false;
    for (const json& item : array_at(list, {"items"})) {
      const std::string_view its = jobs ? string_at(item, {"job", "name"}) : string_at(item, {"name"});
      if (its != name) continue;
      items.push_back(item);
      found = true;
    }
    if (!found) return fail("\"" + name + "\" is not in the list");
  }
  list["items"] = std::move(items);
  return list;
}

std::string without_header(const std::string& table) {
  const size_t end = table.find('\n');
  return end == std::string::npos ? "" : table.substr(end + 1);
}

Timestamp now() {
  return to_timestamp(system_clock().now().wall);
}

struct ListCommand {
  MusterReader& reader;
  const GetOptions& options;
  ListQuestion question;
  ListStyle style;

  Result<FetchedList> fetch() const {
    auto fetched = fetch_list(reader, question, options.cluster.local);
    if (!fetched) return fetched;
    auto kept = only(std::move(fetched->list), options.names, style.jobs);
    if (!kept) return fail(kept.error().message);
    fetched->list = std::move(*kept);
    return fetched;
  }
};

// As kubectl get -w: the table, then each row that changes.
int watch(const ListCommand& listing, json last, std::ostream& out, std::ostream& err) {
  std::string failed;
  while (out) {
    out.flush();
    kube::system_sleeper().sleep(kWatchInterval, {});
    auto fetched = listing.fetch();
    if (!fetched) {
      if (std::exchange(failed, fetched.error().message) != failed) err << "muster get: " << failed << "\n";
      continue;
    }
    failed.clear();
    // A different age alone is not a change: both are compared at the same time.
    const Timestamp at = now();
    const auto changed = changed_rows(list_rows(last, listing.style, at), list_rows(fetched->list, listing.style, at));
    out << text_table(changed);
    last = std::move(fetched->list);
  }
  return 1;
}

void add_list_flags(CLI::App& command, GetOptions& options) {
  add_choice(command, "-o,--output", options.format, parse_list_format, "wide, json, yaml or name")
      ->type_name("FORMAT");
  add_cluster_flags(command, options.cluster);
  add_reader_flags(command, options.cluster);
}

// A check of one parameter, with the sentence of muster.
CLI::Validator checked_parameter(const char* parameter) {
  return parsed_by([parameter](const std::string& text) -> Result<bool> {
    if (text.empty()) return fail("must not be empty; leave the flag out to have no such filter");
    auto read = explain::read_workload_filter({{parameter, text}});
    if (!read) return fail(read.error().message);
    return true;
  });
}

void add_filter_flags(CLI::App& command, GetOptions& options) {
  command.add_flag("--mine", options.mine, "Only jobs that you submitted (muster must record submitters)");
  const auto add = [&](const char* flag, std::string& value, const char* type, const char* parameter,
                       const char* help) {
    command.add_option(flag, value, help)->type_name(type)->check(checked_parameter(parameter));
  };
  add("-l,--selector", options.selector, "SELECTOR", "labelSelector",
      "Only jobs whose labels match, for example team=a,tier in (gold,silver),!debug");
  add("--state", options.states, "STATES", "state",
      "Only these states: Pending, QuotaReserved, Admitted, Evicted, Inactive, Finished, Failed; several with commas");
  add("--search", options.search, "TEXT", "search",
      "Only where the namespace or the name of the job or Workload contains this, in upper or lower case");
  command.add_flag("--finished", options.finished, "Also jobs that finished or failed within the last day");
  add("--sort-by", options.sort_by, "ORDER", "sortBy",
      "queue (the default), created, name or priority; with a minus before it the other way round");
}

// nullopt: `get` of this kind has no filters.
std::optional<explain::FilterValues> filter_of(const GetOptions& options) {
  explain::FilterValues filter;
  const auto add = [&](const char* parameter, const std::string& value) {
    if (!value.empty()) filter.emplace(parameter, value);
  };
  add("labelSelector", options.selector);
  add("state", options.states);
  add("search", options.search);
  add("sortBy", options.sort_by);
  if (options.finished) add("finished", "true");
  if (!find_get_kind(options.kind) || find_get_kind(options.kind)->list == ListKind::kWorkloadList) return filter;
  return filter.empty() && !options.mine ? std::optional(filter) : std::nullopt;
}

// Who the API server says that the caller is.
Result<std::string> own_name(MusterReader& reader) {
  const auto caller = ask_for_caller(reader.api(), system_clock());
  if (!caller) return fail("--mine: the API server did not say who you are: " + caller.error().message);
  std::string name(string_at(caller->user, {"username"}));
  if (!is_recorded_name(name))
    return fail("--mine: muster records no name with control characters or of more than " +
                std::to_string(kLongestSubmitter) + " bytes, and yours is one");
  return name;
}

}  // namespace

std::optional<GetKind> find_get_kind(std::string_view word) {
  static const std::map<std::string_view, GetKind> kKinds = {
      {"workloads", {ListKind::kWorkloadList, true, false}},
      {"jobs", {ListKind::kWorkloadList, true, true}},
      {"queues", {ListKind::kLocalQueueList, true, false}},
      {"clusterqueues", {ListKind::kClusterQueueList, false, false}},
      {"cohorts", {ListKind::kCohortList, false, false}},
  };
  static const std::map<std::string_view, std::string_view> kAliases = {{"workload", "workloads"},
                                                                        {"wl", "workloads"},
                                                                        {"job", "jobs"},
                                                                        {"queue", "queues"},
                                                                        {"localqueue", "queues"},
                                                                        {"localqueues", "queues"},
                                                                        {"lq", "queues"},
                                                                        {"clusterqueue", "clusterqueues"},
                                                                        {"cq", "clusterqueues"},
                                                                        {"cohort", "cohorts"},
                                                                        {"workloads.kueue.x-k8s.io", "workloads"}};
  const auto alias = kAliases.find(word);
  const auto found = kKinds.find(alias == kAliases.end() ? word : alias->second);
  return found == kKinds.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::string>& get_kinds() {
  static const std::vector<std::string> kNames = {"workloads", "jobs", "queues", "clusterqueues", "cohorts"};
  return kNames;
}

void add_get(CLI::App& app, GetOptions& options) {
  CLI::App& command = *app.add_subcommand(
      "get", "List what is queued, in the order of the queue: state, position, reason, wait, flavors");
  add_choice(command, "kind", options.kind, parse_get_kind, "workloads, jobs, queues, clusterqueues or cohorts")
      ->required()
      ->type_name("")
      ->option_text("KIND");
  command.add_option("name", options.names, "Only these")->type_name("")->option_text("NAME");
  command.add_flag("-A,--all-namespaces", options.all_namespaces, "Of all namespaces");
  command.add_option("-q,--queue", options.queue, "Workloads of this LocalQueue");
  command.add_option("--clusterqueue", options.cluster_queue, "Workloads of this ClusterQueue");
  add_filter_flags(command, options);
  command.add_flag("-w,--watch", options.watch, "Print each row that changes, until you interrupt the command");
  command.add_flag("--no-headers", options.no_headers, "Leave out the first line of the table");
  add_list_flags(command, options);
  command.footer(
      "Examples:\n  kubectl muster get jobs\n  kubectl muster get workloads -q team -o wide\n"
      "  kubectl muster get jobs --mine --state Pending,Admitted\n"
      "  kubectl muster get jobs -l team=vision --search train --sort-by=-priority\n"
      "  kubectl muster get jobs --finished --sort-by=-created\n"
      "  kubectl muster get workloads -A --clusterqueue research\n  kubectl muster get queues -w");
}

void add_top(CLI::App& app, GetOptions& options) {
  CLI::App& command = *app.add_subcommand("top", "Show the busiest queues first: pending, and the quota that is used");
  add_choice(
      command, "what", options.kind,
      [](std::string_view text) -> Result<std::string> {
        if (text == "queues" || text == "clusterqueues") return std::string(text);
        return fail("top shows queues or clusterqueues, not \"" + std::string(text) + "\"");
      },
      "queues or clusterqueues")
      ->required()
      ->type_name("")
      ->option_text("KIND");
  command.add_flag("-A,--all-namespaces", options.all_namespaces, "Of all namespaces");
  add_list_flags(command, options);
  command.footer("Examples:\n  kubectl muster top queues -A\n  kubectl muster top clusterqueues");
}

void add_tree(CLI::App& app, GetOptions& options) {
  CLI::App& command =
      *app.add_subcommand("tree", "Show Cohorts and ClusterQueues as a tree, with the quota of each and its use");
  command.add_option("--resource", options.resource, "Only this resource, for example cpu");
  add_cluster_flags(command, options.cluster);
  add_reader_flags(command, options.cluster);
  command.footer("Examples:\n  kubectl muster tree\n  kubectl muster tree --resource nvidia.com/gpu");
}

void add_who(CLI::App& app, GetOptions& options) {
  CLI::App& command = *app.add_subcommand(
      "who", "List the Workloads that hold a resource that a queue waits for, with their start and latest end");
  command.add_option("resource", options.resource, "For example cpu or nvidia.com/gpu")
      ->required()
      ->type_name("")
      ->option_text("RESOURCE");
  CLI::Option* queue = command.add_option("-q,--queue", options.queue, "The LocalQueue that waits");
  command.add_option("--clusterqueue", options.cluster_queue, "Or the ClusterQueue")->excludes(queue);
  add_list_flags(command, options);
  command.footer(
      "Examples:\n  kubectl muster who nvidia.com/gpu -q team\n"
      "  kubectl muster who cpu --clusterqueue research -o wide");
}

int get(const GetOptions& options, std::ostream& out, std::ostream& err) {
  const GetKind kind = *find_get_kind(options.kind);
  const bool of_queue = !options.queue.empty() || !options.cluster_queue.empty();
  if (of_queue && kind.list != ListKind::kWorkloadList)
    return stop(err, "get", 2, "--queue and --clusterqueue are for workloads and jobs");
  if (!options.queue.empty() && (options.all_namespaces || !options.cluster_queue.empty()))
    return stop(err, "get", 2, "--queue is of one namespace; leave out --all-namespaces and --clusterqueue");
  auto filter = filter_of(options);
  if (!filter)
    return stop(err, "get", 2,
                "--mine, --selector, --state, --search, --finished and --sort-by are for workloads and jobs");
  const bool table = options.format == ListFormat::kTable || options.format == ListFormat::kWide;
  if (options.watch && !table) return stop(err, "get", 2, "--watch prints tables; leave out -o json, yaml or name");
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(err, "get", 1, reader.error().message);
  if (options.mine) {
    auto name = own_name(**reader);
    if (!name) return stop(err, "get", 1, name.error().message);
    filter->emplace("submitter", *name);
  }
  const std::string ns = kind.namespaced && !options.all_namespaces ? (*reader)->ns() : "";
  const ListCommand listing{**reader,
                            options,
                            {.kind = kind.list,
                             .ns = ns,
                             .local_queue = options.queue,
                             .cluster_queue = options.cluster_queue,
                             .filter = std::move(*filter)},
                            {.format = options.format, .namespaces = options.all_namespaces, .jobs = kind.jobs}};
  const auto fetched = listing.fetch();
  if (!fetched) return stop(err, "get", 1, fetched.error().message);
  print_notes(*fetched, err);
  if (table && fetched->list["items"].empty() && !options.watch) {
    err << "No " << options.kind << (listing.question.filter.empty() ? "" : " that match") << " found"
        << (ns.empty() ? "" : " in namespace " + ns) << ".\n";
    return 0;
  }
  const std::string text = list_text(fetched->list, listing.style, now());
  out << (options.no_headers && table ? without_header(text) : text);
  return options.watch ? watch(listing, fetched->list, out, err) : 0;
}

int top(const GetOptions& options, std::ostream& out, std::ostream& err) {
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(err, "top", 1, reader.error().message);
  const bool local = options.kind == "queues";
  auto fetched = fetch_list(**reader,
                            {.kind = local ? ListKind::kLocalQueueList : ListKind::kClusterQueueList,
                             .ns = local && !options.all_namespaces ? (*reader)->ns() : ""},
                            options.cluster.local);
  if (!fetched) return stop(err, "top", 1, fetched.error().message);
  print_notes(*fetched, err);
  json& items = fetched->list["items"];
  std::stable_sort(items.begin(), items.end(), [](const json& a, const json& b) {
    return int_at(a, {"pending"}).value_or(0) > int_at(b, {"pending"}).value_or(0);
  });
  out << list_text(fetched->list, {.format = options.format, .namespaces = options.all_namespaces}, now());
  return 0;
}

int tree(const GetOptions& options, std::ostream& out, std::ostream& err) {
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(err, "tree", 1, reader.error().message);
  const auto cohorts = fetch_list(**reader, {.kind = ListKind::kCohortList}, options.cluster.local);
  if (!cohorts) return stop(err, "tree", 1, cohorts.error().message);
  const auto queues = fetch_list(**reader, {.kind = ListKind::kClusterQueueList}, options.cluster.local);
  if (!queues) return stop(err, "tree", 1, queues.error().message);
  print_notes(*queues, err);
  if (const std::string none = no_such_resource({cohorts->list, queues->list}, options.resource); !none.empty())
    return stop(err, "tree", 1, none);
  out << tree_text(cohorts->list, queues->list, options.resource);
  return 0;
}

int who(const GetOptions& options, std::ostream& out, std::ostream& err) {
  if (options.queue.empty() && options.cluster_queue.empty())
    return stop(err, "who", 2, "name the queue: -q QUEUE, or --clusterqueue NAME");
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(err, "who", 1, reader.error().message);
  const auto fetched = fetch_list(**reader,
                                  {.kind = ListKind::kHolderList,
                                   .ns = options.queue.empty() ? "" : (*reader)->ns(),
                                   .local_queue = options.queue,
                                   .cluster_queue = options.cluster_queue,
                                   .resource = options.resource},
                                  options.cluster.local);
  if (!fetched) return stop(err, "who", 1, fetched.error().message);
  print_notes(*fetched, err);
  const bool empty =
      fetched->list["items"].empty() && int_at(fetched->list, {"metadata", "hidden", "count"}).value_or(0) == 0;
  if (empty && options.format != ListFormat::kJson && options.format != ListFormat::kYaml) {
    err << "Nobody holds " << options.resource << " there.\n";
    return 0;
  }
  out << list_text(fetched->list, {.format = options.format}, now());
  return 0;
}

}  // namespace muster::commands
