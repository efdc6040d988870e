#include "api/codec/cleanse_texts.h"

#include <nlohmann/json.hpp>

#include "base/secret_text.h"

namespace muster {

void cleanse_texts(nlohmann::json& tree) {
  if (tree.is_string()) cleanse(tree.get_ref<std::string&>());
  if (!tree.is_structured()) return;
  for (nlohmann::json& item : tree) cleanse_texts(item);
}

}  // namespace muster
