// SPDX-License-Identifier: MIT
#include "coordinator/core/figure_accounting.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::coordinator {
namespace {

using Losses = std::map<int, messages::MicrobatchLoss>;
using MemoryReport = std::map<Rank, messages::Progress>;

/// Both networks' update number `update`, of which this worker made a part.
messages::Progress part_of(std::int64_t update, const messages::UpdateSquares& squares) {
  messages::Progress progress;
  for (const int network : {0, 1}) {
    progress.updates.push_back(
        {.network = network, .update = update, .lr = 0.5 * (network + 1), .squares = squares});
  }
  return progress;
}

report::Tick told_by(FigureAccounting& accounting) {
  report::Tick tick;
  accounting.tell(tick);
  return tick;
}

class FigureAccountingTest : public ::testing::Test {
 protected:
  FigureAccounting accounting_{{"generator", "discriminator"}};
};

TEST_F(FigureAccountingTest, MakesNormsOfTheSquaresOfAllWorkers) {
  accounting_.add_step({},
                       {{Rank(1), part_of(7, {.gradient = 4.0, .change = 1.0, .weights = 30.0})},
                        {Rank(2), part_of(7, {.gradient = 0.0, .change = 0.0, .weights = 0.0})},
                        {Rank(3), part_of(7, {.gradient = 5.0, .change = 3.0, .weights = 70.0})}});
  const report::Tick tick = told_by(accounting_);
  const report::UpdateNorms norms{.gradient = 3.0, .weights = 10.0, .update_ratio = 0.2};
  EXPECT_EQ(tick.updates,
            (std::vector<report::NetworkUpdate>{
                {.network = "generator", .count = 7, .lr = 0.5, .norms = norms},
                {.network = "discriminator", .count = 7, .lr = 1.0, .norms = norms}}));
  EXPECT_TRUE(told_by(accounting_).updates.empty()) << "each once";
}

TEST_F(FigureAccountingTest, ShowsTheLastUpdateOfATick) {
  accounting_.add_step({}, {{Rank(1), part_of(7, {.gradient = 4.0, .weights = 1.0})}});
  accounting_.add_step({}, {{Rank(1), part_of(8, {.gradient = 9.0, .weights = 1.0})}});
  accounting_.add_step({}, {{Rank(1), {}}});
  const report::Tick tick = told_by(accounting_);
  ASSERT_EQ(tick.updates.size(), 2U);
  EXPECT_EQ(tick.updates[0].count, 8);
  EXPECT_EQ(tick.updates[0].norms->gradient, 3.0);
}

TEST_F(FigureAccountingTest, HasNoNormWhereAPartIsMissing) {
  MemoryReport told{{Rank(1), part_of(7, {.gradient = 4.0})},
                    {Rank(2), part_of(7, {.gradient = 4.0})}};
  told[Rank(2)].updates[0].squares.reset();
  accounting_.add_step({}, told);
  const report::Tick tick = told_by(accounting_);
  EXPECT_FALSE(tick.updates[0].norms);
  EXPECT_EQ(tick.updates[0].lr, 0.5);
  EXPECT_TRUE(tick.updates[1].norms);
}

TEST_F(FigureAccountingTest, RefusesPartsOfDifferentUpdatesAndUnknownNetworks) {
  EXPECT_THROW(accounting_.add_step({}, {{Rank(1), part_of(7, {})}, {Rank(2), part_of(8, {})}}),
               InvariantError);
  MemoryReport unknown{{Rank(1), part_of(7, {})}};
  unknown[Rank(1)].updates[1].network = 2;
  EXPECT_THROW(accounting_.add_step({}, unknown), InvariantError);
}

/// Steps of figures whose sums depend on the order, micro-batches told in another one.
report::Tick told_of_figures(bool reversed) {
  FigureAccounting accounting({"discriminator"});
  for (int step = 0; step < 3; ++step) {
    std::array order{0, 1, 2, 3};
    if (reversed) {
      std::ranges::reverse(order);
    }
    Losses losses;
    for (const int microbatch : order) {
      losses[microbatch] = {.microbatch = microbatch,
                            .by_network = {},
                            .figures = {{"logit", 1.0 / (3.0 + 7 * microbatch + 11 * step)}}};
    }
    accounting.add_step(losses, {});
  }
  return told_by(accounting);
}

TEST_F(FigureAccountingTest, AveragesFiguresTheSameWayWhoeverToldThem) {
  const report::Tick tick = told_of_figures(false);
  EXPECT_EQ(told_of_figures(true).figures, tick.figures);
  double expected = 0.0;
  for (int i = 0; i < 12; ++i) {
    expected += 1.0 / (3.0 + 7 * (i % 4) + 11 * (i / 4)) / 12.0;
  }
  ASSERT_EQ(tick.figures.size(), 1U);
  EXPECT_NEAR(tick.figures[0].value, expected, 1e-15);
}

TEST_F(FigureAccountingTest, AveragesOverTheStepsThatHaveAFigure) {
  accounting_.add_step({{0, {.figures = {{"rare", 3.0}, {"often", 1.0}}}}}, {});
  accounting_.add_step({{0, {.figures = {{"often", 2.0}}}}}, {});
  EXPECT_EQ(told_by(accounting_).figures,
            (std::vector<report::TickFigure>{{"often", 1.5}, {"rare", 3.0}}));
  accounting_.add_step({{0, {.figures = {{"often", 5.0}}}}}, {});
  EXPECT_EQ(told_by(accounting_).figures, (std::vector<report::TickFigure>{{"often", 5.0}}));
}

HistogramCounts counts_of(std::span<const float> values) {
  Histogram histogram;
  histogram.add(values);
  return histogram.counts();
}

TEST_F(FigureAccountingTest, AddsHistogramsOfOneTagAndStep) {
  const std::array values{-1.0F, 0.5F, 2.0F, 3.0F};
  const std::span<const float> all(values);
  MemoryReport told;
  told[Rank(1)].histograms = {{.step = 3, .tag = "Logits/real", .counts = counts_of(all.first(1))},
                              {.step = 2, .tag = "Weights/a", .counts = counts_of(all.first(3))}};
  told[Rank(2)].histograms = {{.step = 3, .tag = "Logits/real", .counts = counts_of(all.last(3))}};
  accounting_.add_step({}, told);
  const report::Tick tick = told_by(accounting_);
  EXPECT_EQ(tick.histograms, (std::vector<report::TickHistogram>{
                                 {.step = 2, .tag = "Weights/a", .counts = counts_of(all.first(3))},
                                 {.step = 3, .tag = "Logits/real", .counts = counts_of(all)}}));
  EXPECT_TRUE(told_by(accounting_).histograms.empty());
}

TEST_F(FigureAccountingTest, MarksAnUpdateThatWasSkippedThoughOneWhoMadeNoPartDoesNotSaySo) {
  messages::Progress skipped = part_of(7, {});
  for (messages::UpdateFigures& update : skipped.updates) {
    update.squares.reset();
    update.was_skipped = true;
  }
  accounting_.add_step({}, {{Rank(1), part_of(7, {})}, {Rank(2), skipped}});
  const report::Tick tick = told_by(accounting_);
  ASSERT_EQ(tick.updates.size(), 2U);
  EXPECT_TRUE(tick.updates[0].was_skipped);
  EXPECT_FALSE(tick.updates[0].norms);
}

TEST_F(FigureAccountingTest, TellsTheMeansOfTheLastStepWhoeverToldThem) {
  const auto loss = [](int microbatch, double value) {
    return messages::MicrobatchLoss{
        .microbatch = microbatch, .by_network = {0.0, 0.0}, .figures = {{"spread", value}}};
  };
  accounting_.add_step({{0, loss(0, 1.0)}, {1, loss(1, 3.0)}}, {{Rank(1), {}}});
  EXPECT_EQ(accounting_.last_step(), (std::map<std::string, double>{{"spread", 2.0}}));
  accounting_.add_step({}, {{Rank(1), {}}});
  EXPECT_TRUE(accounting_.last_step().empty());
}

}  // namespace
}  // namespace gangway::coordinator
