// SPDX-License-Identifier: MIT
// Kinds of whole numbers as types that do not convert into one another: an MPI rank is no worker
// index. Everyone; any thread. Pure.
#pragma once

#include <compare>
#include <cstddef>

#include <fmt/format.h>

namespace gangway {

template <typename Kind>
class Index {
 public:
  constexpr Index() = default;
  explicit constexpr Index(int value) : value_(value) {}
  [[nodiscard]] constexpr int value() const { return value_; }
  /// Its place in a container that is indexed by it.
  [[nodiscard]] constexpr std::size_t place() const { return static_cast<std::size_t>(value_); }
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }
  auto operator<=>(const Index&) const = default;

 private:
  int value_ = 0;
};

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
