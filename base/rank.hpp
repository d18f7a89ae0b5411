// SPDX-License-Identifier: MIT
// The numbers of the processes of a job as types: an MPI rank is no worker index. Everyone; any
// thread. Pure.
#pragma once

#include <fmt/format.h>

#include "base/index.hpp"

namespace gangway {

/// An MPI rank: 0 is the coordinator; W workers have the ranks 1 to W.
using Rank = Index<struct RankKind>;
/// A worker, 0 to W - 1.
using WorkerIndex = Index<struct WorkerKind>;

[[nodiscard]] constexpr Rank rank_of(WorkerIndex worker) { return Rank(worker.value() + 1); }
/// @pre not the coordinator's rank
[[nodiscard]] constexpr WorkerIndex worker_of(Rank rank) { return WorkerIndex(rank.value() - 1); }

/// nlohmann::json calls this.
template <typename Json, typename Kind>
void to_json(Json& json, Index<Kind> index) {
  json = index.value();
}

}  // namespace gangway

template <typename Kind>
struct fmt::formatter<gangway::Index<Kind>> : fmt::formatter<int> {
  template <typename Context>
  auto format(gangway::Index<Kind> index, Context& context) const {
    return fmt::formatter<int>::format(index.value(), context);
  }
};
