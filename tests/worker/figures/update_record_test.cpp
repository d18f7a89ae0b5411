// SPDX-License-Identifier: MIT
#include "worker/figures/update_record.hpp"

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/worker/small_network.hpp"
#include "worker/step/network_updater.hpp"

namespace gangway::worker {
namespace {

constexpr NetworkId kNetwork{2};
constexpr UpdateRecord::Wish kNorms{.norms = true};

/// A network, or a part of it, that one worker updates, with its record.
class RecordedNetwork {
 public:
  RecordedNetwork()
      : network_(small_network("generator", 200)),  // some twenty blocks
        state(network_, {}),
        record(state, kNetwork),
        mean_(state.layout().size()) {
    // Only tensors have gradients, padding has none.
    for (const auto* entries : {&state.layout().parameters(), &state.layout().statistics()}) {
      for (const comm::ArenaEntry& entry : *entries) {
        for (std::size_t i = entry.offset; i < entry.offset + entry.elements; ++i) {
          mean_.data()[i] = static_cast<float>(i % 7) * 0.25F - 0.5F;
        }
      }
    }
    updater_.show_to(record);
  }

  /// Updates blocks [begin, end) by gradients times `factor`, in pieces, the last ones first.
  void update(const UpdatePlan& plan, std::size_t begin, std::size_t end, float factor = 1.0F) {
    comm::Arena mean(mean_.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean.data()[i] = factor * mean_.data()[i];
    }
    updater_.prepare(plan);
    for (std::size_t last = end; last > begin;) {
      const std::size_t first = last >= begin + 3 ? last - 3 : begin;
      const comm::ElementRange piece{first * comm::kBlockElements, last * comm::kBlockElements};
      updater_.update(piece, std::as_const(mean).range(piece));
      last = first;
    }
  }
  [[nodiscard]] std::size_t num_blocks() const { return state.layout().num_blocks(); }
  [[nodiscard]] messages::Progress told() {
    record.settle();
    messages::Progress progress;
    record.tell(progress);
    return progress;
  }
  /// Returns the values of trained tensors by name.
  [[nodiscard]] std::map<std::string, std::vector<float>> tensors(const comm::Arena& arena) const {
    std::map<std::string, std::vector<float>> found;
    for (const comm::ArenaEntry& entry : state.layout().parameters()) {
      const float* const begin = arena.data() + entry.offset;
      found[entry.name] = {begin, begin + entry.elements};
    }
    return found;
  }
  [[nodiscard]] const comm::Arena& mean() const { return mean_; }

 private:
  gan::Network network_;

 public:
  NetworkState state;
  UpdateRecord record;

 private:
  NetworkUpdater updater_{state};
  comm::Arena mean_;
};

UpdatePlan plan(std::int64_t update) {
  return {.settings = {.lr = 0.01, .betas = {0.5, 0.9}},
          .counts = {.updates = update - 1},
          .harvests = 1};
}

using Tensors = std::map<std::string, std::vector<float>>;

double sum_of_squares(const Tensors& tensors) {
  double sum = 0.0;
  for (const auto& [name, values] : tensors) {
    for (const float value : values) {
      sum += static_cast<double>(value) * value;
    }
  }
  return sum;
}

double sum_of_squared_differences(const Tensors& left, const Tensors& right) {
  double sum = 0.0;
  for (const auto& [name, values] : left) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = static_cast<double>(values[i]) - right.at(name)[i];
      sum += difference * difference;
    }
  }
  return sum;
}

TEST(UpdateRecord, TellsTheSquaresOfParametersAlone) {
  RecordedNetwork network;
  const Tensors before = network.tensors(network.state.weights());
  network.record.begin(plan(3), kNorms);
  network.update(plan(3), 0, network.num_blocks());
  const Tensors after = network.tensors(network.state.weights());

  const messages::Progress told = network.told();
  ASSERT_EQ(told.updates.size(), 1U);
  const messages::UpdateFigures& update = told.updates.front();
  EXPECT_EQ(update.network, static_cast<int>(kNetwork));
  EXPECT_EQ(update.update, 3);
  EXPECT_EQ(update.lr, 0.01);
  ASSERT_TRUE(update.squares);
  const auto expect_close = [](double found, double expected) {
    EXPECT_GT(expected, 0.0);
    EXPECT_NEAR(found / expected, 1.0, 1e-12);
  };
  expect_close(update.squares->gradient, sum_of_squares(network.tensors(network.mean())));
  expect_close(update.squares->weights, sum_of_squares(before));
  // The difference of close floats has one rounding.
  EXPECT_NEAR(update.squares->change / sum_of_squared_differences(after, before), 1.0, 1e-6);
  EXPECT_TRUE(told.histograms.empty());
  EXPECT_TRUE(network.told().updates.empty()) << "each once";
}

TEST(UpdateRecord, OfSlicesAddsUpToThatOfTheWhole) {
  RecordedNetwork whole;
  whole.record.begin(plan(1), kNorms);
  whole.update(plan(1), 0, whole.num_blocks());
  const messages::UpdateSquares expected = *whole.told().updates.at(0).squares;

  messages::UpdateSquares sum;
  const std::vector<std::size_t> cuts{0, 4, 5, whole.num_blocks(), whole.num_blocks()};
  for (std::size_t worker = 0; worker + 1 < cuts.size(); ++worker) {  // the last has none
    RecordedNetwork part;
    part.record.begin(plan(1), kNorms);
    part.update(plan(1), cuts[worker], cuts[worker + 1]);
    const messages::UpdateSquares squares = *part.told().updates.at(0).squares;
    sum.gradient += squares.gradient;
    sum.change += squares.change;
    sum.weights += squares.weights;
  }
  EXPECT_NEAR(sum.gradient / expected.gradient, 1.0, 1e-12);
  EXPECT_NEAR(sum.change / expected.change, 1.0, 1e-12);
  EXPECT_NEAR(sum.weights / expected.weights, 1.0, 1e-12);
}

TEST(UpdateRecord, LooksAtTheUpdateThatItWasToldOfAndAtNoOther) {
  RecordedNetwork network;
  network.update(plan(1), 0, network.num_blocks());
  EXPECT_TRUE(network.told().updates.empty());
  network.record.begin(plan(2), kNorms);
  network.update(plan(2), 0, network.num_blocks(), 2.0F);
  network.record.settle();
  network.update(plan(3), 0, network.num_blocks(), 100.0F);
  const messages::UpdateFigures update = network.told().updates.at(0);
  EXPECT_EQ(update.update, 2);
  EXPECT_NEAR(update.squares->gradient / (4.0 * sum_of_squares(network.tensors(network.mean()))),
              1.0, 1e-12);
}

TEST(UpdateRecord, TellsTheLastOfSeveralUpdates) {
  RecordedNetwork network;
  for (const std::int64_t update : {1, 2}) {
    network.record.settle();
    network.record.begin(plan(update), kNorms);
    network.update(plan(update), 0, network.num_blocks(), static_cast<float>(update));
  }
  const messages::Progress told = network.told();
  ASSERT_EQ(told.updates.size(), 1U);
  EXPECT_EQ(told.updates[0].update, 2);
  EXPECT_NEAR(
      told.updates[0].squares->gradient / (4.0 * sum_of_squares(network.tensors(network.mean()))),
      1.0, 1e-12);
}

TEST(UpdateRecord, CountsWeightsAndGradientsOfEachTensorWithoutPadding) {
  RecordedNetwork network;
  const Tensors weights = network.tensors(network.state.weights());
  const Tensors gradients = network.tensors(network.mean());
  network.record.begin(plan(1), {.norms = false, .histograms = 8});
  // Updates the slices of two workers.
  network.update(plan(1), 5, network.num_blocks());
  network.update(plan(1), 0, 5);
  const messages::Progress told = network.told();
  EXPECT_TRUE(told.updates.empty());
  std::map<std::string, HistogramCounts> found;
  for (const messages::HistogramPart& part : told.histograms) {
    EXPECT_EQ(part.step, 8);
    found[part.tag] = part.counts;
  }
  ASSERT_EQ(found.size(), 2 * weights.size());
  for (const auto& [group, tensors] :
       {std::pair("Weights/", &weights), std::pair("Gradients/", &gradients)}) {
    for (const auto& [name, values] : *tensors) {
      Histogram expected;
      expected.add(values);
      const HistogramCounts& counts = found[group + name];
      EXPECT_EQ(counts.buckets, expected.counts().buckets) << group << name;
      EXPECT_EQ(counts.counts, expected.counts().counts) << group << name;
      EXPECT_EQ(counts.most, expected.counts().most) << group << name;
    }
  }
}

TEST(UpdateRecord, MarksAnUpdateThatWasSkippedAndHasNoNormsOfIt) {
  RecordedNetwork network;
  network.record.begin(plan(3), kNorms);
  NetworkUpdater updater(network.state);
  updater.show_to(network.record);
  updater.prepare(plan(3));
  const comm::ElementRange all = network.state.layout().parameter_range();
  updater.skip(all, network.mean().range(all));
  const messages::Progress skipped = network.told();
  ASSERT_EQ(skipped.updates.size(), 1U);
  EXPECT_TRUE(skipped.updates[0].was_skipped);
  EXPECT_FALSE(skipped.updates[0].squares);
  network.record.begin(plan(3), kNorms);
  network.update(plan(3), 0, network.num_blocks());
  const messages::Progress made = network.told();
  EXPECT_FALSE(made.updates[0].was_skipped);
  EXPECT_TRUE(made.updates[0].squares);
}

}  // namespace
}  // namespace gangway::worker
