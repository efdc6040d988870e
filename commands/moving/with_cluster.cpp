#include "commands/moving/with_cluster.h"

#include <ostream>

#include "commands/kubectl/reader.h"

namespace muster::commands {

int with_cluster(std::string_view command, const ClusterFlags& flags, ReviewStreams streams,
                 const std::function<int(kube::KubeApi& api)>& run) {
  auto reader = MusterReader::connect(flags);
  if (reader) return run((*reader)->api());
  streams.err << "muster " << command << ": " << reader.error().message << "\n";
  return 1;
}

}  // namespace muster::commands
