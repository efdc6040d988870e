#include "commands/explain/priority_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands/explain/explain_text.h"
#include "commands/kubectl/leader_state.h"
#include "commands/terminal/escape.h"
#include "commands/terminal/text_table.h"
#include "explain/explain.h"

namespace muster::commands {
namespace {

constexpr const char* kMargin = "  ";

std::string workload_of(const ExplainedTerms& terms) {
  return terms.name.empty() ? "(not visible)" : terms.ns + "/" + terms.name;
}

std::string priority_of(const ExplainedTerms& terms) {
  const std::string number = std::to_string(terms.priority);
  return terms.priority_class.empty() ? number : number + " (" + terms.priority_class + ")";
}

std::string time_of(const ExplainedTerms& terms) {
  return format_rfc3339(terms.time) + " (" + terms.time_of + ")";
}

// "2 have a higher priority".
std::string ahead_by(const ExplainedOrder::Ahead& ahead) {
  const bool one = ahead.count == 1;
  const std::string many = std::to_string(ahead.count) + (one ? " has " : " have ");
  if (ahead.term == "sticky") return many + "the first place, because its preemptions are in progress";
  if (ahead.term == "priority") return many + "a higher priority";
  if (ahead.term == "time") return many + "the same priority and an earlier time";
  return many + "the same priority and time, and a smaller uid";
}

// Why one of the queue is ahead or behind, and of a head why it comes before or after the head of the queue.
std::string why(const ExplainedTerms& terms, const ExplainedTerms& than, bool before) {
  const std::string& term = terms.decided_by;
  const std::string side = before ? "ahead: " : "behind: ";
  if (term.empty()) return "";
  if (term == "sticky") return side + (before ? "its preemptions are in progress" : "the preemptions of the other are");
  if (term == "claim") return side + (before ? "has a claim after repeated evictions" : "has no claim");
  if (term == "blocked") return side + (before ? "an earlier cycle blocked it" : "no earlier cycle blocked it");
  if (term == "level") return side + (before ? "its quota is nearer" : "its quota is farther away");
  if (term == "borrowing") return side + (before ? "does not borrow" : "borrows");
  if (term == "share") return side + (before ? "smaller share" : "larger share");
  if (term == "priority")
    return side + "priority " + std::to_string(terms.priority) + (before ? " > " : " < ") +
           std::to_string(than.priority);
  if (term == "time") return side + (before ? "earlier" : "later");
  return side + (before ? "smaller uid" : "larger uid");
}

std::string queue_text(const ExplainedOrder& order) {
  std::vector<TableRow> rows = {{"", "POSITION", "WORKLOAD", "STICKY", "PRIORITY", "TIME", ""}};
  ExplainedTerms itself;
  for (const ExplainedTerms& terms : order.queue) {
    if (terms.itself) itself = terms;
  }
  int64_t last = 0;
  for (const ExplainedTerms& terms : order.queue) {
    if (terms.position > last + 1)
      rows.push_back({"", "...", std::to_string(terms.position - last - 1) + " more", "", "", "", ""});
    last = terms.position;
    rows.push_back({terms.itself ? ">" : "", std::to_string(terms.position), workload_of(terms),
                    terms.sticky ? "yes" : "no", priority_of(terms), time_of(terms),
                    why(terms, itself, terms.position < order.position)});
  }
  if (last < order.pending) rows.push_back({"", "...", std::to_string(order.pending - last) + " more", "", "", "", ""});
  return text_table(rows, kMargin);
}

// Per mille of what the Cohort can lend, divided by the weight.
std::string share_of(const ExplainedTerms& terms) {
  if (terms.weight == 0) return terms.share > 0 || terms.borrows ? "infinite" : "0";
  return std::to_string(std::llround(terms.share / terms.weight));
}

std::string heads_text(const ExplainedOrder& order) {
  TableRow titles = {"", "CLUSTERQUEUE", "WORKLOAD", "CLAIM", "BLOCKED", order.fair ? "BORROWS" : "LEVEL"};
  if (order.fair) titles.insert(titles.end(), {"SHARE", "WEIGHT"});
  titles.insert(titles.end(), {"PRIORITY", "TIME", ""});
  std::vector<TableRow> rows = {std::move(titles)};
  size_t own = order.heads.size();
  for (size_t i = 0; i < order.heads.size(); ++i) {
    if (order.heads[i].cluster_queue == order.cluster_queue) own = i;
  }
  const auto yes = [](bool is) { return std::string(is ? "yes" : "no"); };
  for (size_t i = 0; i < order.heads.size(); ++i) {
    const ExplainedTerms& terms = order.heads[i];
    TableRow row = {terms.itself ? ">" : "", terms.cluster_queue.empty() ? "(not visible)" : terms.cluster_queue,
                    workload_of(terms), yes(terms.claim), yes(terms.blocked)};
    if (order.fair) {
      std::string weight = std::to_string(terms.weight);
      weight.erase(weight.find_last_not_of('0') + 1);
      if (weight.ends_with('.')) weight.pop_back();
      row.insert(row.end(), {yes(terms.borrows), share_of(terms), std::move(weight)});
    } else {
      row.push_back(terms.level ? std::to_string(*terms.level) : "none");
    }
    const bool has_own = own < order.heads.size();
    row.insert(row.end(),
               {priority_of(terms), time_of(terms), has_own ? why(terms, order.heads[own], i < own) : std::string()});
    rows.push_back(std::move(row));
  }
  std::string text = text_table(rows, kMargin);
  if (order.heads_left_out > 0) text += "  and " + std::to_string(order.heads_left_out) + " more ClusterQueues\n";
  return text;
}

std::string sentence(const ExplainReply& explained) {
  const ExplainedOrder& order = *explained.order;
  std::string because;
  for (const ExplainedOrder::Ahead& ahead : order.ahead) because += (because.empty() ? "" : "; ") + ahead_by(ahead);
  const std::string place = explained.subject() + " has position " + std::to_string(order.position) + " of " +
                            std::to_string(order.pending) + " in ClusterQueue " + order.cluster_queue;
  return because.empty() ? place + ": no pending Workload is ahead of it."
                         : place + " because of those ahead of it " + because + ".";
}

// A note, or the headline, says then why the place is not known.
bool may_have_place(const ExplainReply& explained) {
  return explained.says(ExplainReason::kUnknown) ||
         std::find(explained.notes.begin(), explained.notes.end(), explain::kPlaceUnknown) != explained.notes.end();
}

}  // namespace

std::string priority_text(const ExplainReply& explained) {
  std::string text = alarm_line(explained.alarm);
  if (!explained.order) {
    text += on_one_line(explained.headline) + "\n";
    if (explained.found && !may_have_place(explained)) text += "It has no place in the order of a ClusterQueue now.\n";
    for (const std::string& note : explained.notes) text += "(" + on_one_line(note) + ")\n";
    return text;
  }
  const ExplainedOrder& order = *explained.order;
  text += sentence(explained) + "\n" + on_one_line(explained.headline) + "\n";
  for (const std::string& note : explained.notes) text += "(" + on_one_line(note) + ")\n";
  text += "\nQueue\n" + queue_text(order);
  if (order.heads.empty()) return text;
  text += "\nCohort: the first Workload of each ClusterQueue, in the order in which a cycle takes them\n";
  return text + heads_text(order);
}

nlohmann::json priority_json(const ExplainReply& explained) {
  nlohmann::json parts = parts_of(explained, {"reason", "headline", "order"});
  parts.emplace("order", nullptr);
  return parts;
}

}  // namespace muster::commands
