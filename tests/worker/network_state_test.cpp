// SPDX-License-Identifier: MIT
#include "worker/state/network_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/worker/small_network.hpp"
#include "worker/trace/operator_trace.hpp"

namespace gangway::worker {
namespace {

std::vector<at::Tensor> values_of(gan::Network& network) {
  std::vector<at::Tensor> values;
  for (const auto& named : network.parameters()) {
    values.push_back(named.parameter->tensor.detach().clone());
  }
  for (const auto& named : network.statistics()) {
    values.push_back(named.statistic->running.clone());
  }
  return values;
}

bool lies_in(const at::Tensor& tensor, const comm::Arena& arena) {
  const float* data = tensor.const_data_ptr<float>();
  return arena.data() <= data && data + tensor.numel() <= arena.data() + arena.size();
}

at::Tensor output_of(gan::Network& network, gan::StatisticSink* sink = nullptr) {
  const at::Tensor image =
      at::arange(2 * 3 * 8 * 8, at::kFloat).reshape({2, 3, 8, 8}).div(384.0).sub(0.5);
  return network.forward({{"image", image}},
                         {.mode = gan::Mode::kTraining, .sink = sink, .key = {}});
}

TEST(NetworkState, KeepsTheNetworksValuesWhenItTakesThemIntoItsArena) {
  gan::Network network = small_network("generator");
  const std::vector<at::Tensor> before = values_of(network);
  NetworkState state(network, {.format = MemoryFormat::kChannelsLast});
  const std::vector<at::Tensor> after = values_of(network);
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::equal(after[i], before[i])) << state.places()[i].name;
  }
}

TEST(NetworkState, BindsEveryTensorToItsPlaceOfTheArena) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.num_workers = 2});
  std::size_t i = 0;
  for (const auto& named : network.parameters()) {
    const NetworkState::TensorPlace& place = state.places()[i++];
    EXPECT_EQ(place.name, named.name);
    EXPECT_FALSE(place.is_statistic);
    EXPECT_EQ(named.parameter->tensor.const_data_ptr<float>(),
              state.weights().data() + place.range.begin);
    EXPECT_TRUE(named.parameter->tensor.requires_grad());
  }
  for (const auto& named : network.statistics()) {
    const NetworkState::TensorPlace& place = state.places()[i++];
    EXPECT_EQ(place.name, named.name);
    EXPECT_TRUE(place.is_statistic);
    EXPECT_GE(place.range.begin, state.layout().statistics_range().begin);
    EXPECT_EQ(named.statistic->running.const_data_ptr<float>(),
              state.weights().data() + place.range.begin);
  }
  EXPECT_EQ(i, state.places().size());
}

TEST(NetworkState, CountsParametersWithoutPaddingOrStatistics) {
  gan::Network network = small_network("generator", 20);
  const NetworkState state(network, {});
  EXPECT_EQ(state.num_parameters(), 20 * 27 + 20 + 20 + 5 * 20 * 64 + 5 + 5 + 1);
}

TEST(NetworkState, StoresConvolutionsWithChannelsLastWhereTheJobSaysSo) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.format = MemoryFormat::kChannelsLast});
  const at::Tensor weight = network.parameters().front().parameter->tensor;
  EXPECT_TRUE(weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  const NetworkState::TensorPlace& place = state.places().front();
  // Element (output, channel, row, column) of [20, 3, 3, 3].
  const float* memory = state.weights().data() + place.range.begin;
  EXPECT_EQ(memory[((4 * 3 + 2) * 3 + 1) * 3 + 0], weight[4][0][2][1].item<float>());
  EXPECT_EQ(memory[((4 * 3 + 2) * 3 + 1) * 3 + 2], weight[4][2][2][1].item<float>());
  EXPECT_TRUE(NetworkState::view(state.weights().data(), place).equal(weight));
}

TEST(NetworkState, OutputsTheSameInBothMemoryFormatsUpToRounding) {
  gan::Network plain = small_network("generator");
  gan::Network last = small_network("generator");
  const NetworkState plain_state(plain, {});
  const NetworkState last_state(last, {.format = MemoryFormat::kChannelsLast});
  EXPECT_TRUE(at::allclose(output_of(last), output_of(plain), 1e-5, 1e-6));
}

TEST(NetworkState, GathersGradientsAndStatisticsInTheLeaf) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.format = MemoryFormat::kChannelsLast});
  comm::Arena leaf(state.layout().size());
  state.bind_gradients(leaf.data());
  torch::autograd::backward({output_of(network, &state.statistics()).mean()}, {});
  state.statistics().settle(1);
  for (const NetworkState::TensorPlace& place : state.places()) {
    EXPECT_GT(NetworkState::view(leaf.data(), place).abs().max().item<float>(), 0.0F) << place.name;
  }
  for (const auto& named : network.parameters()) {
    EXPECT_TRUE(lies_in(named.parameter->tensor.grad(), leaf)) << named.name;
  }
}

TEST(NetworkState, AddsEachPassToTheLeafThatIsBound) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {});
  comm::Arena once(state.layout().size());
  comm::Arena twice(state.layout().size());
  state.bind_gradients(once.data());
  torch::autograd::backward({output_of(network, &state.statistics()).mean()}, {});
  state.statistics().settle(1);
  state.bind_gradients(twice.data());
  for (int pass = 0; pass < 2; ++pass) {
    torch::autograd::backward({output_of(network, &state.statistics()).mean()}, {});
  }
  state.statistics().settle(2);
  for (std::size_t i = 0; i < once.size(); ++i) {
    ASSERT_EQ(twice.data()[i], 2.0F * once.data()[i]) << i;
  }
}

/// Returns the additions of a trace that no list addition contains.
std::ptrdiff_t single_additions(const TracedOperators& made) {
  return std::ranges::count_if(made.operators, [&](const OperatorEvent& one) {
    return one.name == "aten::add_" &&
           std::ranges::none_of(made.operators, [&](const OperatorEvent& other) {
             return other.name == "aten::_foreach_add_" && other.begin <= one.begin &&
                    one.end <= other.end;
           });
  });
}

TEST(NetworkState, AddsAllGradientsOfABackwardAtOnceWithTheSameBits) {
  for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
    gan::Network network = small_network("generator");
    NetworkState state(network, {.format = format});
    comm::Arena singly(state.layout().size());
    comm::Arena together(state.layout().size());
    const auto added_to = [&](comm::Arena& leaf) {
      state.bind_gradients(leaf.data());
      OperatorTrace trace({});
      for (int pass = 0; pass < 3; ++pass) {
        const at::Tensor minus = output_of(network).mean() * (pass == 2 ? -0.0 : 1.0 + pass);
        torch::autograd::backward({minus}, {});
        state.add_kept_gradients();
      }
      return trace.stop();
    };
    const auto parameters = static_cast<std::ptrdiff_t>(network.parameters().size());
    EXPECT_EQ(single_additions(added_to(singly)), 3 * parameters);
    state.keep_gradients();
    const TracedOperators made = added_to(together);
    EXPECT_EQ(single_additions(made), 0);
    EXPECT_EQ(std::ranges::count(made.operators, std::string("aten::_foreach_add_"),
                                 &OperatorEvent::name),
              3);
    EXPECT_EQ(std::memcmp(singly.data(), together.data(), singly.size() * sizeof(float)), 0);
  }
}

TEST(NetworkState, AddsAGradientOfMinusZeroToZero) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {});
  state.keep_gradients();
  comm::Arena leaf(state.layout().size());
  state.bind_gradients(leaf.data());
  const at::Tensor& weight = network.parameters().front().parameter->tensor;
  torch::autograd::backward({(weight * -0.0).sum()}, {});
  EXPECT_TRUE(at::signbit(weight.grad()).all().item<bool>());
  state.add_kept_gradients();
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_TRUE(std::ranges::none_of(leaf.range({0, leaf.size()}),
                                   [](float value) { return std::signbit(value); }));
}

TEST(NetworkState, GivesTheLeafItselfToCodeThatAddsInPlace) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {});
  state.keep_gradients();
  comm::Arena leaf(state.layout().size());
  state.bind_gradients(leaf.data());
  const at::Tensor& weight = network.parameters().front().parameter->tensor;
  EXPECT_FALSE(weight.grad().defined());
  state.with_leaf_in_place([&] {
    EXPECT_TRUE(lies_in(weight.grad(), leaf));
    state.add_kept_gradients();  // as when a block is complete
    weight.mutable_grad().add_(1.0);
  });
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_EQ(leaf.data()[state.places().front().range.begin], 1.0F);
}

TEST(NetworkState, BindsALeafThatComesAgainToTheSameTensors) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {});
  comm::Arena once(state.layout().size());
  comm::Arena other(state.layout().size());
  state.bind_gradients(once.data());
  const at::Tensor first = network.parameters().front().parameter->tensor.grad();
  state.bind_gradients(other.data());
  EXPECT_FALSE(network.parameters().front().parameter->tensor.grad().is_same(first));
  state.bind_gradients(once.data());
  EXPECT_TRUE(network.parameters().front().parameter->tensor.grad().is_same(first));
}

TEST(LeafStatistics, MakeWhatWasSeenMoreOrLessOftenCountAsManyTimesAsAsked) {
  const at::Tensor two = at::full({2}, 2.0F);
  for (const auto& [times, expected] : {std::pair(0, 15.0F), {1, 6.0F}, {3, 6.0F}, {6, 6.0F}}) {
    const gan::Statistic running_five{"mean", at::full({2}, 5.0F)};
    LeafStatistics seen;
    const at::Tensor sum = at::zeros({2});
    seen.open({{&running_five, sum}});
    for (int i = 0; i < times; ++i) {
      seen.take(running_five, two);
    }
    seen.settle(3);
    seen.settle(3);  // called twice if the last micro-batch's buckets leave before its end
    EXPECT_TRUE(sum.eq(expected).all().item<bool>()) << times << " times: " << sum;
  }
}

TEST(LeafStatistics, ScaleAnotherMomentumToThatOfTheUpdate) {
  const gan::Statistic replaced{"u", at::full({2}, 5.0F), 0.0, 1.0};
  LeafStatistics seen;
  const at::Tensor sum = at::zeros({2});
  seen.open({{&replaced, sum}});
  seen.take(replaced, at::full({2}, 2.0F));
  seen.settle(1);
  const at::Tensor updated =
      replaced.running + static_cast<float>(kStatisticMomentum) * (sum - replaced.running);
  EXPECT_TRUE(at::allclose(updated, at::full({2}, 2.0F), 1e-6)) << updated;
}

TEST(LeafStatistics, AreLeftAloneByAPhaseThatHarvestsNone) {
  const gan::Statistic mean{"mean", at::full({2}, 5.0F)};
  LeafStatistics seen;
  const at::Tensor sum = at::zeros({2});
  seen.open({{&mean, sum}});
  seen.settle(0);
  EXPECT_TRUE(sum.eq(0.0F).all().item<bool>());
}

TEST(NetworkState, RunsABodyWithOtherWeightsAndComesBack) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.format = MemoryFormat::kChannelsLast});
  comm::Arena other(state.layout().size());
  const at::Tensor weight = network.parameters().front().parameter->tensor;
  state.with_weights(other, [&] {
    EXPECT_TRUE(lies_in(weight, other));
    EXPECT_EQ(weight.abs().max().item<float>(), 0.0F);
    EXPECT_TRUE(lies_in(network.statistics().front().statistic->running, other));
  });
  EXPECT_TRUE(lies_in(weight, state.weights()));
  EXPECT_TRUE(lies_in(network.statistics().front().statistic->running, state.weights()));
}

TEST(NetworkState, ComesBackToItsWeightsAfterABodyThatThrows) {
  gan::Network network = small_network("generator");
  NetworkState state(network, {.format = MemoryFormat::kChannelsLast});
  comm::Arena other(state.layout().size());
  EXPECT_THROW(state.with_weights(other, [] { throw std::runtime_error("the disk is full"); }),
               std::runtime_error);
  for (const auto& named : network.parameters()) {
    EXPECT_TRUE(lies_in(named.parameter->tensor, state.weights())) << named.name;
  }
}

TEST(NetworkState, BeginsItsAverageWithTheWeights) {
  gan::Network network = small_network("generator");
  NetworkState with(network, {.format = MemoryFormat::kChannelsLast, .averaging = Averaging::kYes});
  ASSERT_NE(with.average(), nullptr);
  EXPECT_TRUE(same_bits(*with.average(), with.weights()));
  gan::Network other = small_network("discriminator");
  NetworkState without(other, {.format = MemoryFormat::kChannelsLast});
  EXPECT_EQ(without.average(), nullptr);
}

}  // namespace
}  // namespace gangway::worker
