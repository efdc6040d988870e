// The page of `muster simulate --html`: well-formed, complete, and deaf to what tenants write.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "commands/simulate/page.h"
#include "commands/simulate/plots.h"
#include "test/forecast/scenarios.h"
#include "test/simulation/queues.h"

namespace page_test {

using namespace muster;
using namespace muster::commands;
using namespace muster::test;
using nlohmann::json;

namespace {

Report report_of(const std::vector<json>& objects) {
  Report report{.name = "queues/<b>", .scenario = scenario_of(objects), .history = {}, .summary = {}, .notes = {}};
  report.history = forecast::run(report.scenario);
  report.summary = forecast::summarize(report.scenario, report.history);
  return report;
}

json job(const std::string& name, int pods, const std::string& arrival) {
  json made = queued_job(pods, name);
  annotate(made, "run-time", "10m");
  annotate(made, "arrival", arrival);
  return made;
}

// Every element is closed in order, attributes are quoted, and no "<" or "&" stands alone. Empty: it is so.
std::string malformed(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('<', 1); at != std::string::npos; at = page.find('<', at)) {
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "an element is not closed: " + page.substr(at, 60);
    const std::string inside = page.substr(at + 1, end - at - 1);
    const std::string name = inside.substr(0, inside.find_first_of(" /", 1));
    if (std::count(inside.begin(), inside.end(), '"') % 2 != 0) return "a quote is not closed: " + inside;
    if (inside.starts_with("/")) {
      if (open.empty() || "/" + open.back() != inside) return "<" + inside + "> closes nothing";
      open.pop_back();
    } else if (!inside.ends_with("/")) {
      open.push_back(name);
    }
    const size_t next = page.find('<', end);
    const std::string text = page.substr(end + 1, next == std::string::npos ? next : next - end - 1);
    for (size_t sign = text.find('&'); sign != std::string::npos; sign = text.find('&', sign + 1)) {
      const size_t semicolon = text.find(';', sign);
      if (semicolon == std::string::npos || semicolon - sign > 7) return "an & stands alone: " + text.substr(sign, 20);
    }
    at = end;
  }
  return open.empty() ? "" : open.back() + " is not closed";
}

size_t count(const std::string& text, const std::string& part) {
  size_t number = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

}  // namespace

TEST_CASE("page: it is well-formed, has the plots' data, and needs no network") {
  std::vector<json> objects = queues(4);
  for (const json& one : {job("a", 4, "0s"), job("b", 2, "1m"), job("never", 9, "2m")}) objects.push_back(one);
  const std::string page = report_page(report_of(objects));
  CHECK(malformed(page) == "");
  // Usage and waiting: a polygon each. Jobs: bars that run and bars that wait.
  CHECK(count(page, "<polygon") == 2);
  CHECK(count(page, "<rect") == 4);
  for (const char* text : {"default/a on default, 10m", "default/b waits 9m", "default/never waits at the end",
                           "nominal quota 4", "ExceedsMaxQuota", "default-src 'none'"})
    CHECK_MESSAGE(page.find(text) != std::string::npos, text);
  for (const char* outside : {"http://", "https://", "<script", "src=", "@import", "url("}) {
    // Of the name of a namespace nothing is loaded.
    const size_t allowed = std::string(outside) == "http://" ? 1 : 0;
    CHECK_MESSAGE(count(page, outside) == allowed, outside);
  }
}

TEST_CASE("page: waits for nodes are bars of their own, and pods without a node have a plot and a table") {
  std::vector<json> objects = queues(8);
  annotate(objects[0], "nodes", "4");
  annotate(objects[0], "node-resources", "cpu=1");
  for (const json& one : {job("a", 3, "0s"), job("b", 3, "1m"), job("wide", 1, "2m")}) objects.push_back(one);
  objects.back()["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2";
  const std::string page = report_page(report_of(objects));
  CHECK(malformed(page) == "");
  // Usage, jobs that wait, and pods without a node.
  CHECK(count(page, "<polygon") == 3);
  for (const char* text : {"Pods without a node", "default/b waits for nodes 9m", "default/b on default, 10m",
                           "<td>default/wide</td><td>main</td><td>1 of 1</td>",
                           "0/4 nodes are available: 4 Insufficient cpu.", "<th>Other pods</th>"})
    CHECK_MESSAGE(page.find(text) != std::string::npos, text);
  std::vector<json> without = queues(4);
  without.push_back(job("a", 3, "0s"));
  CHECK(report_page(report_of(without)).find("Pods without a node") == std::string::npos);
}

TEST_CASE("page: two configurations stand side by side below the figures of both") {
  std::vector<json> objects = queues(4), larger = queues(6);
  for (const json& one : {job("a", 4, "0s"), job("b", 2, "1m")}) {
    objects.push_back(one);
    larger.push_back(one);
  }
  Report before = report_of(objects), after = report_of(larger);
  after.name = "proposal";
  const std::string page = comparison_page(before, after);
  CHECK(malformed(page) == "");
  const size_t second = page.rfind("<section>");
  CHECK(count(page, "<section>") == 2);
  // On the left b waits for a, on the right there is room for both.
  CHECK(count(page.substr(0, second), "<rect") == 3);
  CHECK(count(page.substr(second), "<rect") == 2);
  for (const char* text :
       {"<th>proposal</th><th>Change</th>", "<td>wait, longest</td><td>9m</td><td>0s</td><td>-9m</td>",
        "nominal quota 4", "nominal quota 6"})
    CHECK_MESSAGE(page.find(text) != std::string::npos, text);
}

TEST_CASE("page: two configurations have the same axes, and a queue has the same color in both") {
  std::vector<json> jobs = {job("large", 4, "0s"), job("small", 1, "1m")};
  jobs[0]["metadata"]["labels"][std::string(kQueueNameLabel)] = "red";
  jobs[1]["metadata"]["labels"][std::string(kQueueNameLabel)] = "blue";
  // In the first one red never has quota for its job, so blue uses more; in the second one red does.
  std::vector<json> small = two_teams(1), larger = two_teams(4);
  for (std::vector<json>* objects : {&small, &larger}) objects->insert(objects->end(), jobs.begin(), jobs.end());
  const std::string page = comparison_page(report_of(small), report_of(larger));
  const size_t second = page.rfind("<section>");
  const std::string left = page.substr(0, second), right = page.substr(second);
  const auto part = [](const std::string& text, const std::string& from, const std::string& to) {
    const size_t begin = text.find(from);
    REQUIRE(begin != std::string::npos);
    return text.substr(begin, text.find(to, begin) - begin);
  };
  const std::string legend = part(right, "<p class=\"legend\">", "</p>");
  CHECK(part(left, "<p class=\"legend\">", "</p>") == legend);
  CHECK(legend.find("red") < legend.find("blue"));
  // What is written at the top of the usage, and below it the times.
  const std::string top = part(right, "<p class=\"top\">", "</span>"),
                    times = part(right, "<p class=\"times\">", "</p>");
  CHECK(part(left, "<p class=\"top\">", "</span>") == top);
  CHECK(part(left, "<p class=\"times\">", "</p>") == times);
  CHECK(top == "<p class=\"top\"><span>8");
}

TEST_CASE("page: the conclusion comes first, and a change of who starts before the waits of the others") {
  const auto with = [](int quota, const std::vector<json>& jobs) {
    std::vector<json> objects = queues(quota);
    objects.insert(objects.end(), jobs.begin(), jobs.end());
    return report_of(objects);
  };
  const std::vector<json> two = {job("a", 4, "0s"), job("b", 2, "1m")};
  const Report all = with(4, two);
  CHECK(conclusion(all) == "All 2 jobs start. Wait before the start: 4m30s on average, 9m at most.");
  const Report one_never = with(4, {job("a", 4, "0s"), job("wide", 9, "0s")});
  CHECK(conclusion(one_never) == "1 of 2 jobs never starts. Wait of the others: 0s on average, 0s at most.");
  Report none = all;
  none.summary = {};
  CHECK(conclusion(none) == "No job has arrived.");
  Report asked = with(4, two);
  asked.asked = 0;
  CHECK(conclusion(asked) == verdict_text(asked));

  Report after = with(6, two);
  after.name = "proposal";
  CHECK(conclusion(all, after) ==
        "With proposal, " + all.summary.groups[0].queue + " waits 4m30s less (on average). No job is evicted.");
  CHECK(conclusion(all, all).find("waits as long as before") != std::string::npos);
  Report room = with(9, {job("a", 4, "0s"), job("wide", 9, "0s")});
  room.expectations = {{.name = "e", .holds = false, .found = "f"}, {.name = "g", .holds = true, .found = "h"}};
  CHECK(conclusion(one_never, room).starts_with("1 of 2 expectations FAIL. 0 jobs never start, before 1. "));

  const std::string page = comparison_page(all, after);
  const size_t first = page.find("class=\"conclusion\"");
  REQUIRE(first != std::string::npos);
  CHECK(first < page.find("<table"));
  CHECK(report_page(all).find("All 2 jobs start") < report_page(all).find("<h2"));
}

TEST_CASE("page: it follows the dark scheme, stacks on a narrow screen, and its texts are not scaled with the plots") {
  std::vector<json> objects = queues(4);
  objects.push_back(job("a", 4, "0s"));
  const std::string page = report_page(report_of(objects));
  for (const char* part :
       {"prefers-color-scheme:dark", "max-width:46rem", "color-scheme:light dark", "width=device-width"})
    CHECK_MESSAGE(page.find(part) != std::string::npos, part);
  CHECK(page.find("<text") == std::string::npos);
  // Jobs that wait are no queue.
  CHECK(count(page, "<polygon class=\"waits\"") == 1);
  // Of each color that an element has on itself: a queue and a flavor never share it.
  const auto colors_of = [&](const std::string& legend) {
    std::vector<std::string> colors;
    for (size_t at = legend.find("background:#"); at != std::string::npos; at = legend.find("background:#", at + 1))
      colors.push_back(legend.substr(at + 11, 7));
    return colors;
  };
  std::vector<std::string> names(10, "x");
  for (const std::string& queue : colors_of(legend(names, Palette::kQueues))) {
    for (const std::string& flavor : colors_of(legend(names, Palette::kFlavors))) CHECK(queue != flavor);
  }
  CHECK(colors_of(legend(names, Palette::kFlavors)).size() == 10);
}

TEST_CASE("page: a flavor has the same color on both sides, whichever is used first") {
  std::vector<json> objects = queues(4);
  objects.push_back(job("a", 4, "0s"));
  Report before = report_of(objects), after = before;
  REQUIRE(before.history.flavor_sets.size() == 1);
  after.history.flavor_sets.insert(after.history.flavor_sets.begin(), "other");
  for (forecast::Stay& stay : after.history.stays) ++stay.flavors;
  const std::string page = comparison_page(before, after);
  const auto bar = [](const std::string& text) {
    const size_t end = text.find("<title>default/a on default");
    REQUIRE(end != std::string::npos);
    const size_t fill = text.rfind("fill=\"", end);
    return text.substr(fill, 14);
  };
  const size_t second = page.rfind("<section>");
  CHECK(bar(page.substr(0, second)) == bar(page.substr(second)));
}

TEST_CASE("page: names that tenants write stay text") {
  std::vector<json> objects = queues(4);
  const std::string evil = "</title><script>alert(1)</script>\"'&\x01\xff";
  json wrong = job("x", 4, "0s");
  wrong["metadata"]["name"] = evil;
  json never = job("never", 100, "0s");
  never["metadata"]["name"] = "<img src=x onerror=alert(2)>";
  never["metadata"]["labels"][std::string(kQueueNameLabel)] = "\"><svg onload=alert(3)>";
  objects[0]["metadata"]["name"] = "<i>flavor</i>";
  objects[1]["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "<i>flavor</i>";
  objects.push_back(wrong);
  objects.push_back(never);
  Report report = report_of(objects);
  report.notes.push_back("<b>note</b>");
  report.expectations.push_back({.name = "<u>e</u>", .holds = false, .found = "<u>f</u>"});
  const std::string page = report_page(report);
  CHECK(malformed(page) == "");
  for (const char* part : {"<script", "<img", "<i>flavor", "<b>note", "<u>", "queues/<b>", "onload=alert(3)>\""})
    CHECK_MESSAGE(page.find(part) == std::string::npos, part);
  CHECK(page.find("&lt;script&gt;alert(1)") != std::string::npos);
  CHECK(page.find("&lt;i&gt;flavor") != std::string::npos);
}

TEST_CASE("page: a simulation without any admission is a page too") {
  std::vector<json> objects = queues(4);
  objects.push_back(job("never", 9, "0s"));
  const std::string page = report_page(report_of(objects));
  CHECK(malformed(page) == "");
  CHECK(page.find("nan") == std::string::npos);
  CHECK(page.find("inf") == std::string::npos);
}

}  // namespace page_test
