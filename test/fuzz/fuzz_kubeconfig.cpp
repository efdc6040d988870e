// Kubeconfig files: whatever the text, the answer is a way to reach a cluster that names a server,
// or an error with a sentence.
#include <string>
#include <string_view>

#include "kube/transport/kubeconfig.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

void check(std::string_view text) {
  // Two files are merged.
  const size_t half = text.find('\0');
  const kube::KubeconfigFile files[] = {
      {"/home/user/.kube/config", std::string(text.substr(0, half))},
      {"/etc/kube/config", half == std::string_view::npos ? "" : std::string(text.substr(half + 1))}};
  for (const char* context : {"", "prod"}) {
    const auto access = kube::read_kubeconfig(files, context);
    REQUIRE_THAT(access.ok() || !access.error().message.empty());
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
