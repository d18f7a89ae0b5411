// SPDX-License-Identifier: MIT
#include "coordinator/core/lease_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr LeasePlan kPlan{.start_step = 0,
                          .total_steps = 100,
                          .tick_steps = 10,
                          .picture_steps = 20,
                          .checkpoint_steps = {50}};

/// Returns all leases of a book whose worker finishes each at once.
std::vector<Lease> run_through(LeaseBook& book) {
  std::vector<Lease> leases;
  std::int64_t done = 0;
  while (!book.last_granted()) {
    for (const Lease& lease : book.grant(done)) {
      leases.push_back(lease);
    }
    done = book.granted_end();
  }
  return leases;
}

/// Returns the saved steps of a whole job.
std::vector<std::int64_t> saved_steps(const LeasePlan& plan) {
  LeaseBook book(plan);
  book.set_step_seconds(0.001);
  std::vector<std::int64_t> saved;
  for (const Lease& lease : run_through(book)) {
    if (lease.checkpoint) {
      saved.push_back(lease.end);
    }
  }
  return saved;
}

TEST(LeaseBook, GrantsTwoStepsAheadBeforeItKnowsHowLongAStepTakes) {
  LeaseBook book(kPlan);
  EXPECT_THAT(book.grant(0), ElementsAre(Lease{.begin = 0, .end = 1}, Lease{.begin = 1, .end = 2}));
  EXPECT_THAT(book.grant(0), IsEmpty());
  EXPECT_THAT(book.grant(1), ElementsAre(Lease{.begin = 2, .end = 3}));
}

TEST(LeaseBook, MakesLeasesAboutASecondLongAndGrantsTheNextInTheirMiddle) {
  LeaseBook book({.start_step = 0, .total_steps = 1000});
  book.set_step_seconds(0.1);
  EXPECT_THAT(book.grant(0), ElementsAre(Lease{.begin = 0, .end = 10}));
  EXPECT_THAT(book.grant(4), IsEmpty());
  EXPECT_THAT(book.grant(5), ElementsAre(Lease{.begin = 10, .end = 20}));
  book.set_step_seconds(0.0);
  book.set_step_seconds(5.0);
  EXPECT_THAT(book.grant(14), IsEmpty());
  EXPECT_THAT(book.grant(15), ElementsAre(Lease{.begin = 20, .end = 21}));
  EXPECT_THAT(book.grant(19), IsEmpty());
  EXPECT_THAT(book.grant(20), ElementsAre(Lease{.begin = 21, .end = 22}));
}

TEST(LeaseBook, EndsLeasesWhereSomethingIsDueAndCoversEveryStepOnce) {
  LeaseBook book(kPlan);
  book.set_step_seconds(0.001);
  const std::vector<Lease> leases = run_through(book);
  ASSERT_EQ(leases.size(), 10U);
  for (std::size_t index = 0; index < leases.size(); ++index) {
    const auto begin = static_cast<std::int64_t>(index) * 10;
    EXPECT_EQ(leases[index].begin, begin);
    EXPECT_EQ(leases[index].end, begin + 10);
    EXPECT_EQ(leases[index].pictures, leases[index].end % 20 == 0);
    EXPECT_EQ(leases[index].checkpoint, leases[index].end % 50 == 0);
    EXPECT_EQ(leases[index].last, leases[index].end == 100);
  }
}

TEST(LeaseBook, SavesAndDrawsAtTheEndWhateverTheIntervals) {
  LeaseBook book({.start_step = 97,
                  .saved_step = 97,
                  .total_steps = 99,
                  .tick_steps = 10,
                  .picture_steps = 0,
                  .checkpoint_steps = {}});
  EXPECT_THAT(
      book.grant(97),
      ElementsAre(
          Lease{.begin = 97, .end = 98},
          Lease{.begin = 98, .end = 99, .pictures = true, .checkpoint = true, .last = true}));
  EXPECT_THAT(book.grant(99), IsEmpty());
}

TEST(LeaseBook, AnswersAStopAtOnceWithALastLeaseThatOnlySaves) {
  LeaseBook book(kPlan);
  EXPECT_EQ(book.grant(0).size(), 2U);
  book.request_stop();
  EXPECT_THAT(book.grant(0),
              ElementsAre(Lease{.begin = 2, .end = 2, .checkpoint = true, .last = true}));
  EXPECT_TRUE(book.last_granted());
  EXPECT_THAT(book.grant(2), IsEmpty());
}

TEST(LeaseBook, DoesNotSaveTwiceWhenAStopMeetsACheckpoint) {
  LeaseBook book({.start_step = 0, .total_steps = 100, .checkpoint_steps = {2}});
  EXPECT_EQ(book.grant(0).size(), 2U);
  book.request_stop();
  EXPECT_THAT(book.grant(1), ElementsAre(Lease{.begin = 2, .end = 2, .last = true}));
}

TEST(LeaseBook, DoesNotSaveWhatWasResumedAndNotTrainedFurther) {
  LeaseBook book({.start_step = 40, .saved_step = 40, .total_steps = 100});
  book.request_stop();
  EXPECT_THAT(book.grant(40), ElementsAre(Lease{.begin = 40, .end = 40, .last = true}));
}

TEST(LeaseBook, AnswersACheckpointRequestOnceAndGoesOn) {
  LeaseBook book({.start_step = 0, .total_steps = 100});
  EXPECT_EQ(book.grant(0).size(), 2U);
  book.request_checkpoint();
  EXPECT_THAT(book.grant(0), ElementsAre(Lease{.begin = 2, .end = 2, .checkpoint = true}));
  book.request_checkpoint();
  EXPECT_THAT(book.grant(0), IsEmpty()) << "that state is being saved";
  EXPECT_THAT(book.grant(1), ElementsAre(Lease{.begin = 2, .end = 3}));
}

TEST(LeaseBook, SavesByImagesAndBySteps) {
  EXPECT_THAT(saved_steps({.total_steps = 50, .checkpoint_steps = {20, 15}}),
              ElementsAre(15, 20, 30, 40, 45, 50));
}

TEST(LeaseBook, LeavesASaveShortlyBeforeTheEndToTheEnd) {
  EXPECT_THAT(saved_steps({.total_steps = 625, .checkpoint_steps = {156}}),
              ElementsAre(156, 312, 468, 625));
  EXPECT_THAT(saved_steps({.total_steps = 625, .checkpoint_steps = {0, 208}}),
              ElementsAre(208, 416, 625));
  EXPECT_THAT(saved_steps({.total_steps = 110, .checkpoint_steps = {50}}),
              ElementsAre(50, 100, 110))
      << "a fifth of the interval would be lost with the end";
  EXPECT_THAT(saved_steps({.total_steps = 3, .checkpoint_steps = {1}}), ElementsAre(1, 2, 3));
}

TEST(LeaseBook, AnswersACheckpointRequestWithTheLastLeaseWhereThatIsNext) {
  LeaseBook book({.start_step = 97, .saved_step = 97, .total_steps = 100});
  EXPECT_EQ(book.grant(97).size(), 2U);
  book.request_checkpoint();
  EXPECT_THAT(book.grant(97),
              ElementsAre(Lease{
                  .begin = 99, .end = 100, .pictures = true, .checkpoint = true, .last = true}));
}

TEST(LeaseBook, SavesWhatBeganAsASnapshotAlthoughNoStepWasRun) {
  LeaseBook book({.start_step = 40, .saved_step = 25, .total_steps = 100});
  book.request_stop();
  const auto leases = book.grant(40);
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].begin, leases[0].end);
  EXPECT_TRUE(leases[0].checkpoint);
  EXPECT_TRUE(leases[0].last);
}

TEST(LeaseBook, SavesASnapshotOfTheLastStep) {
  LeaseBook book({.start_step = 100, .saved_step = 90, .total_steps = 100});
  const auto leases = book.grant(100);
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0].end, 100);
  EXPECT_TRUE(leases[0].checkpoint);
  EXPECT_TRUE(leases[0].last);
}

TEST(LeaseBook, SavesASnapshotBehindAnEndThatWasMovedForwardAndTrainsNothing) {
  LeasePlan plan = kPlan;
  plan.start_step = plan.total_steps + 7;
  plan.saved_step = 50;
  LeaseBook book(plan);
  EXPECT_THAT(book.grant(plan.start_step),
              ElementsAre(Lease{.begin = 107, .end = 107, .checkpoint = true, .last = true}));
}

TEST(LeaseBook, GrantsNoStepBehindTheOneThatItIsHeldAt) {
  LeaseBook book(kPlan);
  book.set_step_seconds(0.001);
  book.hold_at(50);
  std::int64_t done = 0;
  for (int round = 0; round < 20; ++round) {
    (void)book.grant(done);
    done = book.granted_end();
  }
  EXPECT_EQ(done, 50);
  EXPECT_TRUE(book.is_held());
  book.request_checkpoint();
  EXPECT_THAT(book.grant(50), IsEmpty()) << "that state is being saved";
  book.hold_at(std::nullopt);
  EXPECT_FALSE(book.is_held());
  EXPECT_THAT(book.grant(50), ElementsAre(Lease{.begin = 50, .end = 60, .pictures = true}));
}

TEST(LeaseBook, LetsARequestThroughWhileItIsHeld) {
  LeaseBook book({.start_step = 0, .total_steps = 100});
  book.hold_at(0);
  EXPECT_THAT(book.grant(0), IsEmpty());
  book.request_stop();
  EXPECT_THAT(book.grant(0), ElementsAre(Lease{.begin = 0, .end = 0, .last = true}));
}

TEST(LeaseBook, EndsEarlierWhereItIsTold) {
  LeaseBook ahead(kPlan);
  ahead.set_step_seconds(0.001);
  (void)ahead.grant(0);
  ahead.end_at(50);
  const auto leases = run_through(ahead);
  EXPECT_EQ(leases.back(),
            (Lease{.begin = 40, .end = 50, .pictures = true, .checkpoint = true, .last = true}));
  LeaseBook there({.start_step = 50, .saved_step = 50, .total_steps = 100});
  there.end_at(50);
  EXPECT_THAT(there.grant(50), ElementsAre(Lease{.begin = 50, .end = 50, .last = true}));
}

}  // namespace
}  // namespace gangway::coordinator
