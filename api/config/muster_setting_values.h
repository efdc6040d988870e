// The forms of settings (muster_settings.h): each makes the functions that read, set and show one
// field of MusterConfiguration. Only muster_settings.cpp needs them.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "api/config/muster_settings.h"

namespace muster::setting_values {

using nlohmann::json;

// The words of an enumeration, and the sentence for any other text.
template <class Enum, size_t N>
struct Words {
  using Value = Enum;
  struct Word {
    std::string_view text;
    Enum value;
  };
  std::string_view wrong;
  Word words[N];

  Result<Enum> parse(std::string_view text) const {
    for (const Word& word : words) {
      if (word.text == text) return word.value;
    }
    return fail(std::string(wrong));
  }
  std::string show(Enum value) const {
    const auto* found =
        std::find_if(std::begin(words), std::end(words), [&](const Word& w) { return w.value == value; });
    return found == std::end(words) ? "" : std::string(found->text);
  }
};

// As a flag takes them.
std::string shown(const std::string& text);
std::string shown(Duration duration);  // "2160h", "1h30m"
std::string shown(bool on);
std::string shown(double number);
std::string shown(int number);
std::string shown(const std::vector<std::string>& list);
std::string shown(const FeatureGateMap& gates);
template <class T>
std::string shown(const std::optional<T>& value) {
  return value ? shown(*value) : "";
}

// The text of a value that must be one; empty with an error when it is not.
std::string text_of(const json& value, const FieldPath& path, FieldErrors& errors);
void read_names(const json& value, const FieldPath& path, std::string_view kind, std::vector<std::string>& into,
                FieldErrors& errors);
void read_switch(const json& value, const FieldPath& path, bool& into, FieldErrors& errors);
void read_share(const json& value, const FieldPath& path, double& into, FieldErrors& errors);
// A whole number from 1 to `most`.
void read_count(const json& value, const FieldPath& path, int most, int& into, FieldErrors& errors);
void read_jobset_gates(const json& value, const FieldPath& path, FeatureGateMap& into, FieldErrors& errors);
Outcome<> add_names(const std::vector<std::string>& texts, std::vector<std::string>& into);
Result<bool> parse_switch(std::string_view text);
Result<double> parse_share(std::string_view text);
Result<int> parse_count(std::string_view text, int most);
Result<FeatureGateMap> parse_jobset_gates(std::string_view text);

inline std::vector<std::string_view> no_words() {
  return {};
}

template <auto Member>
std::string show(const MusterConfiguration& configuration) {
  return shown(configuration.*Member);
}

// The last one wins.
template <auto Member, auto Parse>
Outcome<> set(const std::vector<std::string>& texts, MusterConfiguration& into) {
  for (const std::string& text : texts) {
    auto parsed = Parse(text);
    if (!parsed) return fail(parsed.error().message);
    into.*Member = std::move(*parsed);
  }
  return Done{};
}

template <auto Member, auto Parse>
void read_text(const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
  const std::string text = text_of(value, path, errors);
  if (text.empty()) return;
  auto parsed = Parse(text);
  if (parsed) {
    into.*Member = std::move(*parsed);
  } else {
    errors.push_back(invalid(path, value, parsed.error().message));
  }
}

// A string that Parse turns into the value: Result<T>(std::string_view).
template <auto Member, auto Parse>
constexpr SettingValue text() {
  return {SettingForm::kText, no_words, read_text<Member, Parse>, set<Member, Parse>, show<Member>};
}

template <const auto& List>
Result<typename std::remove_cvref_t<decltype(List)>::Value> parse_word(std::string_view text) {
  return List.parse(text);
}

// One of the words of List, a constant of type Words.
template <auto Member, const auto& List>
constexpr SettingValue word() {
  return {SettingForm::kWord,
          [] {
            std::vector<std::string_view> texts;
            for (const auto& word : List.words) texts.push_back(word.text);
            return texts;
          },
          read_text<Member, parse_word<List>>, set<Member, parse_word<List>>,
          [](const MusterConfiguration& configuration) {
            const std::optional<typename std::remove_cvref_t<decltype(List)>::Value> held = configuration.*Member;
            return held ? List.show(*held) : std::string();
          }};
}

template <auto Member>
constexpr SettingValue toggle() {
  return {SettingForm::kSwitch, no_words,
          [](const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
            read_switch(value, path, into.*Member, errors);
          },
          set<Member, parse_switch>, show<Member>};
}

template <auto Member>
constexpr SettingValue share() {
  return {SettingForm::kShare, no_words,
          [](const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
            read_share(value, path, into.*Member, errors);
          },
          set<Member, parse_share>, show<Member>};
}

template <int most>
Result<int> parse_count_to(std::string_view text) {
  return parse_count(text, most);
}

// From 1 to `most`.
template <auto Member, int most>
constexpr SettingValue count() {
  return {SettingForm::kCount, no_words,
          [](const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
            read_count(value, path, most, into.*Member, errors);
          },
          set<Member, parse_count_to<most>>, show<Member>};
}

// Whether flags add to the list of the file, or replace it.
enum class FlagOfList { kAdds, kReplaces };

// A list of what Kind names, for the sentence about a value that is none.
template <auto Member, const auto& Kind, FlagOfList flag>
constexpr SettingValue list() {
  return {SettingForm::kList, no_words,
          [](const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
            read_names(value, path, Kind, into.*Member, errors);
          },
          [](const std::vector<std::string>& texts, MusterConfiguration& into) {
            if (flag == FlagOfList::kReplaces) (into.*Member).clear();
            return add_names(texts, into.*Member);
          },
          show<Member>};
}

// Feature gates of JobSet.
template <auto Member>
constexpr SettingValue jobset_gates() {
  return {SettingForm::kMap, no_words,
          [](const json& value, const FieldPath& path, MusterConfiguration& into, FieldErrors& errors) {
            read_jobset_gates(value, path, into.*Member, errors);
          },
          set<Member, parse_jobset_gates>, show<Member>};
}

}  // namespace muster::setting_values
