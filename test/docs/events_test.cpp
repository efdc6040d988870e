// docs/events.md against the table of Events, both ways.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "api/texts/event_reasons.h"
#include "test/support/files.h"

namespace events_test {

namespace {

using muster::EventRow;
namespace fs = std::filesystem;

std::string row_in_page(const EventRow& row) {
  return "| `" + std::string(row.reason) + (row.open ? "..." : "") + "` | " + std::string(row.type) + " | " +
         std::string(row.regarding) + " | " + std::string(row.origin) + " | " + std::string(row.sentence) + " |";
}

std::set<std::string> rows_of_page() {
  std::istringstream lines(muster::test::read_file(fs::path(MUSTER_SOURCE_DIR) / "docs/events.md"));
  std::set<std::string> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `")) rows.insert(line);
  }
  return rows;
}

}  // namespace

TEST_CASE("events: docs/events.md has the row of each Event, and no other") {
  std::set<std::string> page = rows_of_page();
  CHECK(page.size() == muster::event_rows().size());
  for (const EventRow& row : muster::event_rows()) {
    const std::string expected = row_in_page(row);
    if (page.erase(expected) == 0) FAIL_CHECK("docs/events.md lacks this row:\n" << expected);
  }
  for (const std::string& row : page) FAIL_CHECK("docs/events.md has a row of no Event:\n" << row);
}

TEST_CASE("events: each row says all, and no two have the same reason and type") {
  std::set<std::pair<std::string_view, std::string_view>> known;
  const std::set<std::string_view> origins = {muster::kFromKueue, muster::kFromJobSet, muster::kFromMuster};
  for (const EventRow& row : muster::event_rows()) {
    INFO(std::string(row.reason));
    CHECK(known.emplace(row.reason, row.type).second);
    CHECK((row.type == muster::kNormalEvent || row.type == muster::kWarningEvent));
    CHECK(origins.contains(row.origin));
    CHECK_FALSE(row.regarding.empty());
    CHECK(row.sentence.ends_with('.'));
    CHECK(row.sentence.find('|') == std::string_view::npos);
    if (!row.open) CHECK(muster::find_event_reason(row.type, row.reason) == row.id);
  }
  CHECK_FALSE(muster::find_event_reason(muster::kWarningEvent, "QuotaReserved"));
  CHECK_FALSE(muster::find_event_reason(muster::kNormalEvent, "EvictedDueTo"));
}

}  // namespace events_test
