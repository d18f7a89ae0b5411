// SPDX-License-Identifier: MIT
#include "base/rank.hpp"

#include <set>
#include <type_traits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gangway {
namespace {

static_assert(!std::is_convertible_v<int, Rank> && !std::is_convertible_v<Rank, int>);
static_assert(!std::is_constructible_v<Rank, WorkerIndex>);
static_assert(!std::is_constructible_v<WorkerIndex, Rank>);

TEST(Rank, ConvertsARankIntoItsWorkerAndBack) {
  EXPECT_EQ(rank_of(WorkerIndex(0)), Rank(1));
  EXPECT_EQ(worker_of(Rank(3)), WorkerIndex(2));
}

TEST(Rank, IsWrittenAsItsNumber) {
  EXPECT_EQ(fmt::format("rank-{:04}", Rank(3)), "rank-0003");
  const nlohmann::json json = {{"lost", Rank(4)}, {"drained", std::set{Rank(2), Rank(1)}}};
  EXPECT_EQ(json.dump(), R"({"drained":[1,2],"lost":4})");
}

}  // namespace
}  // namespace gangway
