// Names in commands that people copy into a shell. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// The text as one word for a POSIX shell, quoted where needed. nullopt: no word that is safe to show and to paste can
// hold it (control characters, bytes outside of ASCII, no text at all).
std::optional<std::string> shell_word(std::string_view text);

}  // namespace muster
