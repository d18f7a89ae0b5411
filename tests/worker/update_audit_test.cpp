// SPDX-License-Identifier: MIT
#include "worker/step/update_audit.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "comm/transport/peer_error.hpp"
#include "tests/worker/small_network.hpp"

namespace gangway::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWorkers = 3;

/// Changes what the updater did before the audit sees it; nothing unless told.
struct Corruption final : UpdateWatcher {
  void before_update(const UpdateSlice&) override {}
  void after_update(const UpdateSlice& slice, const UpdatePlan&) override {
    if (arena != nullptr && slice.range.begin <= element && element < slice.range.end) {
      float& value = arena->data()[element];
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
    }
  }
  comm::Arena* arena = nullptr;
  std::size_t element = 0;
};

/// One worker's network and audit. Its lane is driven by the test.
struct AuditedWorker {
  AuditedWorker(comm::LoopbackHub& hub, int index, Averaging averaging)
      : transport(hub, index),
        network(small_network("generator", 200)),  // some twenty blocks
        state(network, {.num_workers = kWorkers, .averaging = averaging}),
        updater(state),
        mean(state.layout().size()),
        audit(transport, state,
              {.network = 0, .seed = 5, .timeout = std::chrono::milliseconds(50)}) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean.data()[i] = static_cast<float>(i % 7) * 0.25F - 0.5F;
    }
    updater.show_to(corruption);
    updater.show_to(audit);
  }
  comm::LoopbackTransport transport;
  gan::Network network;
  NetworkState state;
  NetworkUpdater updater;
  comm::Arena mean;
  UpdateAudit audit;
  Corruption corruption;
};

class UpdateAuditTest : public ::testing::Test {
 protected:
  explicit UpdateAuditTest(Averaging averaging = Averaging::kYes) {
    for (int i = 0; i < kWorkers; ++i) {
      workers_.push_back(std::make_unique<AuditedWorker>(hub_, i, averaging));
    }
  }
  static UpdatePlan plan(std::int64_t step) {
    return {.settings = {.lr = 0.01, .betas = {0.5, 0.9}},
            .counts = {.updates = step},
            .harvests = 2,
            .average_decay = 0.75};
  }
  /// Every owner updates its slices, a block at a time.
  void update(std::int64_t step) {
    for (const auto& worker : workers_) {
      worker->updater.prepare(plan(step));
      worker->audit.begin(step, plan(step));
    }
    const comm::BucketPlan& cuts = workers_.front()->state.plan();
    for (int owner = 0; owner < kWorkers; ++owner) {
      AuditedWorker& worker = *workers_[static_cast<std::size_t>(owner)];
      for (std::size_t bucket = 0; bucket < cuts.num_buckets(); ++bucket) {
        const comm::ElementRange slice = cuts.slice(bucket, owner);
        for (std::size_t at = slice.begin; at < slice.end; at += comm::kBlockElements) {
          const comm::ElementRange piece{at, at + comm::kBlockElements};
          worker.updater.update(piece, std::as_const(worker.mean).range(piece));
        }
      }
    }
  }
  /// Drives all lanes until nothing is under way; what the auditor found.
  std::string verdict() {
    try {
      while (std::ranges::any_of(workers_, [](const auto& worker) {
        return worker->audit.needs() != comm::Exchange::Need::kNothing;
      })) {
        for (const auto& worker : workers_) {
          (void)worker->audit.advance();
        }
      }
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  AuditedWorker& worker(int index) { return *workers_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] UpdateAudit::Choice choice(std::int64_t step) const {
    return workers_.front()->audit.choose(step);
  }
  comm::LoopbackHub& hub() { return hub_; }

 private:
  comm::LoopbackHub hub_{kWorkers};
  std::vector<std::unique_ptr<AuditedWorker>> workers_;
};

class UpdateAuditWithoutAverage : public UpdateAuditTest {
 protected:
  UpdateAuditWithoutAverage() : UpdateAuditTest(Averaging::kNo) {}
};

TEST_F(UpdateAuditTest, ChoosesTheSameOnAllWorkersAndAnotherWorkerThanTheOwner) {
  std::set<std::size_t> blocks;
  std::set<std::pair<int, int>> pairs;
  for (std::int64_t step = 0; step < 300; ++step) {
    const UpdateAudit::Choice chosen = choice(step);
    EXPECT_EQ(worker(2).audit.choose(step).range, chosen.range);
    EXPECT_EQ(worker(2).audit.choose(step).auditor, chosen.auditor);
    EXPECT_NE(chosen.owner, chosen.auditor);
    EXPECT_EQ(chosen.range.begin % comm::kBlockElements, 0U);
    EXPECT_FALSE(chosen.range.empty());
    blocks.insert(chosen.range.begin);
    pairs.emplace(chosen.owner, chosen.auditor);
  }
  EXPECT_EQ(blocks.size(), worker(0).state.layout().num_blocks());
  EXPECT_GE(pairs.size(), 4U);  // owners and auditors change
}

TEST_F(UpdateAuditTest, PassesWhatTheUpdaterDid) {
  for (std::int64_t step = 0; step < 12; ++step) {
    update(step);
    EXPECT_EQ(verdict(), "") << step;
  }
}

TEST_F(UpdateAuditWithoutAverage, PassesWhatTheUpdaterDid) {
  for (std::int64_t step = 0; step < 12; ++step) {
    update(step);
    EXPECT_EQ(verdict(), "") << step;
  }
}

/// By what an update changes.
class UpdateAuditOf : public UpdateAuditTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(UpdateAuditOf, CatchesAFlippedBitInTheOptimisersResult) {
  std::int64_t step = 0;
  while (choice(step).range.begin >= worker(0).state.layout().parameters().back().offset) {
    ++step;  // until a slice begins with a parameter
  }
  const UpdateAudit::Choice chosen = choice(step);
  NetworkState& state = worker(chosen.owner).state;
  const std::array arenas{&state.weights(), &state.moments()[0], &state.moments()[1],
                          state.average()};
  const std::array names{"(weights)", "(first moment)", "(second moment)",
                         "(average of the weights)"};
  Corruption& corruption = worker(chosen.owner).corruption;
  corruption.arena = arenas[GetParam()];
  corruption.element = chosen.range.begin + 3;
  update(step);
  EXPECT_THAT(
      verdict(),
      AllOf(HasSubstr("step " + std::to_string(step) + ": rank " +
                      fmt::to_string(rank_of(WorkerIndex(chosen.owner))) + " updated 'generator/"),
            HasSubstr(names[GetParam()]),
            HasSubstr("than rank " + fmt::to_string(rank_of(WorkerIndex(chosen.auditor))))));
}

INSTANTIATE_TEST_SUITE_P(EachPart, UpdateAuditOf, ::testing::Values(0U, 1U, 2U, 3U));

TEST_F(UpdateAuditTest, CatchesARateThatIsNotTheAuditors) {
  const AuditedWorker& owner = worker(choice(0).owner);
  for (int i = 0; i < kWorkers; ++i) {
    UpdatePlan mine = plan(0);
    mine.settings.lr = &worker(i) == &owner ? 0.02 : 0.01;
    worker(i).updater.prepare(mine);
    worker(i).audit.begin(0, mine);
  }
  AuditedWorker& updates = worker(choice(0).owner);
  const comm::ElementRange range = choice(0).range;
  updates.updater.update(range, std::as_const(updates.mean).range(range));
  EXPECT_THAT(verdict(), HasSubstr("to other bits"));
}

TEST_F(UpdateAuditTest, NamesASilentOwner) {
  const auto rank = [](int worker) {
    return "rank " + fmt::to_string(rank_of(WorkerIndex(worker)));
  };
  hub().inject(
      [](int, int, comm::MessageTag) { return comm::LoopbackHub::MessageFault{.lost = true}; });
  update(0);
  EXPECT_THAT(verdict(), AllOf(HasSubstr(rank(choice(0).auditor) + " waited"),
                               HasSubstr("for " + rank(choice(0).owner))));
}

}  // namespace
}  // namespace gangway::worker
