// SPDX-License-Identifier: MIT
// State of an optimiser with one moment instead of two.
#include <bit>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/worker/small_network.hpp"
#include "worker/state/owned_state.hpp"
#include "worker/step/network_updater.hpp"
#include "worker/step/update_audit.hpp"

namespace gangway::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

UpdatePlan plan_with_momentum() {
  return {.settings = {.kind = OptimizerKind::kSgd, .lr = 0.5, .momentum = 0.25},
          .counts = {.updates = 0},
          .harvests = 1};
}

/// One worker of two whose network is trained with momentum. The test drives its lane.
struct MomentumWorker {
  MomentumWorker(comm::LoopbackHub& hub, int index)
      : transport(hub, index),
        network(small_network("generator")),
        state(network, {.num_workers = 2, .optimizer = OptimizerKind::kSgd}),
        updater(state),
        mean(state.layout().size()),
        audit(transport, state,
              {.network = 0, .seed = 5, .timeout = std::chrono::milliseconds(50)}) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean.data()[i] = static_cast<float>(i % 7) * 0.25F - 0.5F;
    }
  }
  comm::LoopbackTransport transport;
  gan::Network network;
  NetworkState state;
  NetworkUpdater updater;
  comm::Arena mean;
  UpdateAudit audit;
};

/// Flips a bit of the moment after the update, if enabled.
struct MomentumCorruption final : UpdateWatcher {
  void before_update(const UpdateSlice&) override {}
  void after_update(const UpdateSlice& slice, const UpdatePlan&) override {
    if (state != nullptr && slice.range.begin <= element && element < slice.range.end) {
      float& value = state->moments()[0].data()[element];
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
    }
  }
  NetworkState* state = nullptr;
  std::size_t element = 0;
};

TEST(OneMoment, IsAllThatANetworkKeeps) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.optimizer = OptimizerKind::kSgd});
  ASSERT_EQ(state.moments().size(), 1U);
  const PerMoment<std::span<float>> found = state.moments({0, 64});
  EXPECT_EQ(found[0].size(), 64U);
  for (std::size_t i = 1; i < found.size(); ++i) {
    EXPECT_TRUE(found[i].empty());
  }
  std::vector<std::string> prefixes;
  for (const NamedArena& arena : named_arenas(state)) {
    prefixes.push_back(arena.prefix);
  }
  EXPECT_THAT(prefixes, ElementsAre("generator", "generator_optimizer/momentum"));
}

TEST(OneMoment, IsUpdatedWithTheWeights) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.optimizer = OptimizerKind::kSgd});
  const std::vector<float> before(state.weights().data(),
                                  state.weights().data() + state.weights().size());
  comm::Arena mean(state.layout().size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean.data()[i] = 0.25F;
  }
  NetworkUpdater updater(state);
  const comm::ElementRange all{0, state.layout().size()};
  for (int update = 0; update < 2; ++update) {
    updater.prepare(plan_with_momentum());
    updater.update(all, std::as_const(mean).range(all));
  }
  const comm::ArenaEntry& first = state.layout().parameters().front();
  for (std::size_t i = first.offset; i < first.offset + first.elements; ++i) {
    ASSERT_FLOAT_EQ(state.moments()[0].data()[i], 0.25F + 0.25F * 0.25F);
    ASSERT_NEAR(state.weights().data()[i], before[i] - 0.5F * (2.0F * 0.25F + 0.0625F), 1e-6F);
  }
}

TEST(OneMoment, BeginsAnewAtZero) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.optimizer = OptimizerKind::kLion});
  state.moments()[0].data()[3] = 1.0F;
  state.begin_anew(1);
  EXPECT_EQ(state.moments()[0].data()[3], 0.0F);
}

/// @param corrupts  whether the owner's moment is changed after the update
std::string verdict_of_an_audit(bool corrupts) {
  comm::LoopbackHub hub(2);
  std::vector<std::unique_ptr<MomentumWorker>> workers;
  for (int i = 0; i < 2; ++i) {
    workers.push_back(std::make_unique<MomentumWorker>(hub, i));
  }
  std::int64_t step = 0;
  const std::size_t last = workers[0]->state.layout().parameters().back().offset;
  while (workers[0]->audit.choose(step).range.begin >= last) {
    ++step;  // finds a slice that begins with a parameter
  }
  const UpdateAudit::Choice chosen = workers[0]->audit.choose(step);
  MomentumWorker& owner = *workers[static_cast<std::size_t>(chosen.owner)];
  MomentumCorruption corruption;
  corruption.element = chosen.range.begin + 3;
  corruption.state = corrupts ? &owner.state : nullptr;
  owner.updater.show_to(corruption);
  owner.updater.show_to(owner.audit);
  for (const auto& worker : workers) {
    worker->updater.prepare(plan_with_momentum());
    worker->audit.begin(step, plan_with_momentum());
  }
  owner.updater.update(chosen.range, std::as_const(owner.mean).range(chosen.range));
  try {
    while (workers[0]->audit.needs() != comm::Exchange::Need::kNothing ||
           workers[1]->audit.needs() != comm::Exchange::Need::kNothing) {
      (void)workers[0]->audit.advance();
      (void)workers[1]->audit.advance();
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(OneMoment, IsAuditedAsTheWeightsAre) {
  EXPECT_EQ(verdict_of_an_audit(false), "");
  EXPECT_THAT(verdict_of_an_audit(true), HasSubstr("(momentum)"));
}

}  // namespace
}  // namespace gangway::worker
