// The few file operations that certs/ needs, with errors as values. Blocking; used
// on the thread that drives certificates.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret_text.h"

namespace muster::certs {

// "<what> <path>: <errno's text>".
Failure<Error> errno_failure(std::string_view what, const std::filesystem::path& path);

// nullopt when there is no such file. It can hold a key. Refuses files above 1 MiB, more than any
// certificate needs and as much as a Secret can hold.
Result<std::optional<SecretText>> read_file_if_present(const std::filesystem::path& path);

// Creates the file with this mode, for any umask, and flushes it to disk.
Outcome<> write_new_file(const std::filesystem::path& path, std::string_view content, unsigned mode);

}  // namespace muster::certs
