// SPDX-License-Identifier: MIT
#include "job/file/open_keys.hpp"

#include <algorithm>
#include <string_view>

#include "job/schema/key.hpp"

namespace gangway {
namespace {

bool is_open(const Draft& draft, std::string_view path) {
  const std::vector<Key>& keys = key_table(*draft.spec.training.recipe);
  const auto key = std::ranges::find(keys, path, &Key::path);
  return key != keys.end() && !draft.given.contains(key->path) &&
         !draft.faulty.contains(key->path) && key->applies(draft.spec);
}

bool is_own(const NetworkSpec& network) { return !network.module.file.empty(); }

}  // namespace

OpenKeys open_keys(const Draft& draft) {
  return {.data = draft.spec.data,
          .channels = is_open(draft, "model.channels"),
          .device = draft.spec.numerics.device == DeviceKind::kAuto,
          .classes =
              is_open(draft, "model.classes") && std::ranges::none_of(draft.spec.networks, is_own),
          .python = draft.spec.has_python() && draft.spec.layout.python.empty()};
}

}  // namespace gangway
