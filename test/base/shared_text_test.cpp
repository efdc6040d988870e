#include "base/shared_text.h"

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace shared_text_test {

using muster::SharedText;

TEST_CASE("shared text: equal ones are one and others are not") {
  const size_t before = SharedText::count();
  const std::string words = "The workload is admitted";
  const SharedText a = words, b = std::string_view(words), other = "Pods are ready";
  CHECK(SharedText::count() == before + 2);
  CHECK(&a.text() == &b.text());
  CHECK(a == b);
  CHECK(a != other);
  CHECK(a == words);
  CHECK(a == "The workload is admitted");
  CHECK(a.text() != words.substr(1));
  CHECK("It says: " + a + "." == "It says: The workload is admitted.");
  CHECK(a.starts_with("The "));
  CHECK(a.ends_with(" admitted"));
}

TEST_CASE("shared text: lives as long as one who has it") {
  const size_t before = SharedText::count();
  std::optional<SharedText> first = "somebody has this", second = first;
  first.reset();
  CHECK(*second == "somebody has this");
  SharedText moved = std::move(*second);
  second.reset();
  CHECK(moved == "somebody has this");
  moved = "and now that";
  CHECK(moved == "and now that");
  CHECK(SharedText::count() == before + 1);
  SharedText& itself = moved;
  moved = itself;
  CHECK(moved == "and now that");
  moved = {};
  CHECK(SharedText::count() == before);
}

TEST_CASE("shared text: the empty one is no text") {
  const size_t before = SharedText::count();
  const SharedText none, empty = "";
  CHECK(none == empty);
  CHECK(none == "");
  CHECK(none.empty());
  CHECK(none.text().empty());
  CHECK(SharedText::count() == before);
}

TEST_CASE("shared text: threads that make and drop the same ones do each other no harm") {
  const size_t before = SharedText::count();
  {
    std::vector<std::jthread> threads;
    std::atomic<int> wrong = 0;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20'000; ++i) {
          const std::string words = "text " + std::to_string(i % 3);
          const SharedText made = words, copy = made;
          if (copy != words) ++wrong;
        }
      });
    }
    threads.clear();
    CHECK(wrong == 0);
  }
  CHECK(SharedText::count() == before);
}

}  // namespace shared_text_test
