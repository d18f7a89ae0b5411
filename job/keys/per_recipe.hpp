// SPDX-License-Identifier: MIT
// Caches values that follow from a recipe alone: its keys, their index, its rules. Pure.
#pragma once

#include <map>

#include "base/guarded.hpp"
#include "job/models/recipes.hpp"

namespace gangway {

/// Makes a T for each recipe at its first use; the T never moves. Any thread.
template <typename T>
class PerRecipe {
 public:
  explicit PerRecipe(T (*make)(const Recipe& recipe)) : make_(make) {}

  [[nodiscard]] const T& of(const Recipe& recipe) {
    const MutexLock lock(mutex_);
    auto found = made_.find(&recipe);
    if (found == made_.end()) {
      found = made_.emplace(&recipe, make_(recipe)).first;
    }
    return found->second;
  }

 private:
  T (*make_)(const Recipe& recipe);
  Mutex mutex_;
  std::map<const Recipe*, T> made_ GANGWAY_GUARDED_BY(mutex_);
};

}  // namespace gangway
