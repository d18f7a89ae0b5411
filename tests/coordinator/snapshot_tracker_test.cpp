// SPDX-License-Identifier: MIT
#include "coordinator/core/snapshot_tracker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SnapshotTracker, TakesThemInTheIntervalOfTheJob) {
  SnapshotTracker book(1, 0, {.every = 3});
  EXPECT_THAT(book.due(0, 2, false), IsEmpty());
  EXPECT_THAT(book.due(2, 8, false), ElementsAre(3, 6));
  EXPECT_THAT(book.due(8, 9, false), ElementsAre(9));
}

TEST(SnapshotTracker, TakesNoneWhereTheJobWantsNone) {
  SnapshotTracker book(2, 0, {.every = 0});
  EXPECT_THAT(book.due(0, 1000, false), IsEmpty());
}

TEST(SnapshotTracker, CountsOnFromACheckpointsOwn) {
  SnapshotTracker book(1, 0, {.every = 3});
  EXPECT_THAT(book.due(0, 5, true), ElementsAre(3));
  EXPECT_THAT(book.due(5, 9, false), ElementsAre(8));
}

TEST(SnapshotTracker, SpendsHalfAPercentOfTheTime) {
  SnapshotTracker book(2, 100, {.every = SnapshotPace::kAuto});
  EXPECT_THAT(book.due(100, 112, false), ElementsAre(100 + SnapshotTracker::kFirstSteps));
  book.set_step_seconds(0.1, 0.0);
  book.taken(WorkerIndex(0), 110, 0.004);
  book.taken(WorkerIndex(1), 110, 0.010);  // the slowest counts
  EXPECT_EQ(book.interval(), 20);
  EXPECT_THAT(book.due(112, 160, false), ElementsAre(130, 150));
}

TEST(SnapshotTracker, TakesThemAsOftenAsLossesMakeItWorthWhile) {
  // One kill a minute, 14.5 ms a snapshot: Young's interval is 1.32 s.
  SnapshotTracker book(1, 0, {.losses = 2, .watched_seconds = 90.0});
  book.set_step_seconds(0.1, 30.0);
  book.taken(WorkerIndex(0), 10, 0.0145);
  EXPECT_EQ(book.interval(), 14);
  book.set_step_seconds(0.1, 30.0 + 3600.0);  // nothing was lost for an hour: as without losses
  EXPECT_EQ(book.interval(), 29);
}

TEST(SnapshotTracker, SpendsNoMoreThanTheJobAllows) {
  SnapshotTracker book(1, 0, {.most_cost = 0.01, .losses = 10, .watched_seconds = 10.0});
  book.set_step_seconds(0.1, 0.0);
  book.taken(WorkerIndex(0), 10, 0.020);
  EXPECT_EQ(book.interval(), 20);  // Young's would be 2 steps
}

TEST(SnapshotTracker, KnowsWhatAllWorkersHave) {
  SnapshotTracker book(2, 0, {.every = 5});
  EXPECT_EQ(book.complete(), std::nullopt);
  book.taken(WorkerIndex(0), 5, 0.001);
  EXPECT_EQ(book.complete(), std::nullopt);
  book.taken(WorkerIndex(1), 5, 0.001);
  EXPECT_EQ(book.complete(), 5);
  book.taken(WorkerIndex(0), 10, 0.001);
  EXPECT_EQ(book.complete(), 5);
  book.taken(WorkerIndex(1), 15, 0.001);  // it had no room for 10
  EXPECT_EQ(book.complete(), 5);
  book.taken(WorkerIndex(0), 15, 0.001);
  EXPECT_EQ(book.complete(), 15);
}

TEST(SnapshotTracker, CountsNothingThatAnEarlierStartTook) {
  SnapshotTracker book(1, 50, {.every = 10});
  book.taken(WorkerIndex(0), 50, 0.5);
  book.taken(WorkerIndex(0), std::nullopt, 0.0);
  EXPECT_EQ(book.complete(), std::nullopt);
}

TEST(SnapshotTracker, WaitsForTheCopiesOfBuddies) {
  SnapshotTracker book(2, 0, {.every = 5});
  book.set_buddies(true);
  EXPECT_THAT(book.due(0, 12, false), ElementsAre(5)) << "one after the other";
  book.taken(WorkerIndex(0), 5, 0.001);
  book.taken(WorkerIndex(1), 5, 0.001);
  EXPECT_EQ(book.complete(), std::nullopt);
  EXPECT_THAT(book.due(12, 20, false), IsEmpty());
  book.copied(WorkerIndex(0), 5, 5);
  EXPECT_EQ(book.complete(), std::nullopt);
  book.copied(WorkerIndex(1), 5, 5);
  EXPECT_EQ(book.complete(), 5);
  EXPECT_THAT(book.due(20, 30, false), ElementsAre(21));
}

TEST(SnapshotTracker, GoesOnWithTheNextWhereACopyWasGivenUp) {
  SnapshotTracker book(2, 0, {.every = 5});
  book.set_buddies(true);
  EXPECT_THAT(book.due(0, 5, false), ElementsAre(5));
  book.copied(WorkerIndex(0), 5, 5);
  book.copied(WorkerIndex(1), std::nullopt, 5);
  EXPECT_EQ(book.complete(), std::nullopt);
  EXPECT_THAT(book.due(5, 10, false), ElementsAre(10));
  book.copied(WorkerIndex(0), 10, 10);
  book.copied(WorkerIndex(1), 10, 10);
  EXPECT_EQ(book.complete(), 10);
}

}  // namespace
}  // namespace gangway::coordinator
