// SPDX-License-Identifier: MIT
// The simulator and the generators against an independent one: the figures are those that the
// reference simulator (Python; one list scheduler, one replay) prints for the same costs, to one
// decimal.
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/gan_profile.hpp"

namespace gangway::pipeline {
namespace {

constexpr GanProfile kUsual;
constexpr GanProfile kTotals{
    .generator_forward = 7.5, .discriminator_forward = 6.0, .discriminator_backward = 6.4};
constexpr GanProfile kDearHop{.hop = 0.2};
constexpr GanProfile kDearestHop{.hop = 0.5};

struct Figure {
  double bubble_percent;
  int peak_stored;
};

struct Row {
  GanCase test;
  GanProfile profile;
  /// By pass (GPipe), 1F1B, fill fused, fill split, the same with at most 2 M kept, with M + p.
  std::vector<Figure> figures;
};

const std::vector<Row> kRows = {
    {{"V", 2, 4, 1, false},
     kUsual,
     {{13.3, 8}, {15.8, 5}, {6.3, 6}, {0.4, 12}, {0.0, 8}, {2.2, 7}}},
    {{"V", 2, 8, 1, false},
     kUsual,
     {{7.1, 16}, {8.7, 5}, {3.2, 10}, {0.0, 24}, {0.1, 16}, {1.0, 11}}},
    {{"V", 2, 16, 1, false},
     kUsual,
     {{3.7, 32}, {4.8, 5}, {1.6, 18}, {0.0, 48}, {1.0, 32}, {0.5, 19}}},
    {{"V", 4, 4, 1, false},
     kUsual,
     {{36.9, 8}, {37.1, 8}, {17.6, 11}, {11.2, 12}, {13.7, 8}, {13.7, 8}}},
    {{"V", 4, 8, 1, false},
     kUsual,
     {{19.9, 16}, {23.9, 9}, {8.6, 15}, {3.7, 24}, {1.2, 16}, {5.1, 15}}},
    {{"V", 4, 16, 1, false},
     kUsual,
     {{10.3, 32}, {15.6, 9}, {4.5, 23}, {0.0, 48}, {0.1, 32}, {2.2, 23}}},
    {{"V", 8, 4, 1, false},
     kUsual,
     {{61.8, 8}, {61.9, 8}, {45.3, 12}, {37.5, 12}, {40.0, 11}, {37.5, 12}}},
    {{"V", 8, 8, 1, false},
     kUsual,
     {{40.4, 16}, {40.8, 16}, {19.0, 23}, {13.6, 24}, {16.5, 16}, {16.5, 16}}},
    {{"V", 8, 16, 1, false},
     kUsual,
     {{23.1, 32}, {26.8, 17}, {9.0, 31}, {5.2, 48}, {2.4, 32}, {7.6, 31}}},
    {{"loop", 2, 4, 1, false},
     kUsual,
     {{18.7, 8}, {20.2, 6}, {0.9, 8}, {0.0, 12}, {0.0, 8}, {0.0, 7}}},
    {{"loop", 2, 8, 1, false},
     kUsual,
     {{9.2, 16}, {11.0, 6}, {1.7, 12}, {0.0, 24}, {0.0, 16}, {0.5, 11}}},
    {{"loop", 2, 16, 1, false},
     kUsual,
     {{5.4, 32}, {6.0, 6}, {0.9, 20}, {0.0, 48}, {0.0, 32}, {0.0, 19}}},
    {{"loop", 4, 4, 1, false},
     kUsual,
     {{36.9, 8}, {39.9, 8}, {19.8, 11}, {4.9, 12}, {6.5, 8}, {6.5, 8}}},
    {{"loop", 4, 8, 1, false},
     kUsual,
     {{24.8, 16}, {25.3, 12}, {2.5, 18}, {0.0, 24}, {2.3, 16}, {2.5, 15}}},
    {{"loop", 4, 16, 1, false},
     kUsual,
     {{14.7, 32}, {16.5, 12}, {3.7, 26}, {0.0, 48}, {0.0, 32}, {2.4, 23}}},
    {{"loop", 8, 4, 1, false},
     kUsual,
     {{61.8, 8}, {64.8, 8}, {43.9, 12}, {34.3, 12}, {36.5, 11}, {34.3, 12}}},
    {{"loop", 8, 8, 1, false},
     kUsual,
     {{40.5, 16}, {42.5, 16}, {23.1, 23}, {5.0, 24}, {8.1, 16}, {8.1, 16}}},
    {{"loop", 8, 16, 1, false},
     kUsual,
     {{27.2, 32}, {30.1, 23}, {3.4, 37}, {0.0, 48}, {2.7, 32}, {3.0, 31}}},
    {{"apart", 2, 4, 1, false},
     kUsual,
     {{38.1, 4}, {35.5, 2}, {22.2, 4}, {22.2, 8}, {22.2, 8}, {22.2, 6}}},
    {{"apart", 2, 8, 1, false},
     kUsual,
     {{35.5, 8}, {33.2, 2}, {22.2, 8}, {22.2, 16}, {22.2, 16}, {22.2, 10}}},
    {{"apart", 2, 16, 1, false},
     kUsual,
     {{34.0, 16}, {31.9, 2}, {22.2, 16}, {22.2, 32}, {22.2, 32}, {22.2, 18}}},
    {{"apart", 4, 4, 1, false},
     kUsual,
     {{52.9, 4}, {50.6, 4}, {28.8, 6}, {22.2, 8}, {27.3, 8}, {27.3, 8}}},
    {{"apart", 4, 8, 1, false},
     kUsual,
     {{44.5, 8}, {42.6, 4}, {25.6, 8}, {22.2, 16}, {24.9, 16}, {22.2, 12}}},
    {{"apart", 4, 16, 1, false},
     kUsual,
     {{39.1, 16}, {37.4, 4}, {24.0, 16}, {22.2, 32}, {23.6, 32}, {22.2, 20}}},
    {{"apart", 8, 4, 1, false},
     kUsual,
     {{65.4, 4}, {65.5, 4}, {50.3, 8}, {44.5, 8}, {44.5, 8}, {44.5, 8}}},
    {{"apart", 8, 8, 1, false},
     kUsual,
     {{51.9, 8}, {56.3, 8}, {29.1, 15}, {22.6, 16}, {22.6, 16}, {22.6, 16}}},
    {{"apart", 8, 16, 1, false},
     kUsual,
     {{42.9, 16}, {46.3, 8}, {11.0, 16}, {2.8, 32}, {2.8, 32}, {2.8, 24}}},
    {{"loop", 2, 4, 1, true},
     kUsual,
     {{20.4, 8}, {20.6, 6}, {8.0, 8}, {0.0, 12}, {3.5, 8}, {7.0, 7}}},
    {{"loop", 2, 8, 1, true},
     kUsual,
     {{11.4, 16}, {11.6, 10}, {5.0, 12}, {0.0, 24}, {1.8, 16}, {2.5, 11}}},
    {{"loop", 2, 16, 1, true},
     kUsual,
     {{6.0, 32}, {6.4, 18}, {2.6, 20}, {0.0, 48}, {0.2, 32}, {1.3, 19}}},
    {{"loop", 4, 4, 1, true},
     kUsual,
     {{39.3, 8}, {42.3, 8}, {28.9, 11}, {11.6, 11}, {17.9, 8}, {17.9, 8}}},
    {{"loop", 4, 8, 1, true},
     kUsual,
     {{26.9, 16}, {28.2, 12}, {12.1, 18}, {0.3, 22}, {5.2, 16}, {7.1, 15}}},
    {{"loop", 4, 16, 1, true},
     kUsual,
     {{16.1, 32}, {18.5, 20}, {7.2, 26}, {0.0, 48}, {3.4, 32}, {5.1, 23}}},
    {{"loop", 8, 4, 1, true},
     kUsual,
     {{62.7, 8}, {65.8, 8}, {51.5, 12}, {40.7, 12}, {42.7, 10}, {40.7, 12}}},
    {{"loop", 8, 8, 1, true},
     kUsual,
     {{42.9, 16}, {45.0, 16}, {32.2, 23}, {14.0, 23}, {21.1, 18}, {21.1, 18}}},
    {{"loop", 8, 16, 1, true},
     kUsual,
     {{29.8, 32}, {32.6, 24}, {12.4, 37}, {1.8, 46}, {8.0, 32}, {8.4, 31}}},
    {{"loop", 4, 4, 5, false},
     kUsual,
     {{38.5, 8}, {39.7, 8}, {21.6, 11}, {7.4, 12}, {16.6, 8}, {16.6, 8}}},
    {{"loop", 4, 8, 5, false},
     kUsual,
     {{24.3, 16}, {27.0, 12}, {12.1, 18}, {0.0, 24}, {9.6, 16}, {8.5, 15}}},
    {{"loop", 8, 4, 5, false},
     kUsual,
     {{62.4, 8}, {63.5, 8}, {39.4, 12}, {27.3, 12}, {42.9, 8}, {32.6, 12}}},
    {{"loop", 8, 8, 5, false},
     kUsual,
     {{42.1, 16}, {43.2, 16}, {24.3, 23}, {9.5, 24}, {18.9, 16}, {18.9, 16}}},
    {{"two chunks", 4, 4, 1, false},
     kUsual,
     {{36.8, 16}, {37.0, 16}, {11.0, 18}, {3.5, 24}, {5.1, 17}, {5.1, 17}}},
    {{"two chunks", 4, 8, 1, false},
     kUsual,
     {{16.0, 28}, {27.1, 21}, {6.4, 28}, {0.0, 48}, {2.5, 32}, {2.0, 26}}},
    {{"two chunks", 4, 16, 1, false},
     kUsual,
     {{7.4, 58}, {14.9, 27}, {3.2, 44}, {0.0, 96}, {0.0, 64}, {1.6, 44}}},
    {{"two chunks", 8, 4, 1, false},
     kUsual,
     {{60.3, 16}, {60.3, 16}, {43.5, 24}, {34.3, 24}, {35.8, 23}, {34.3, 24}}},
    {{"two chunks", 8, 8, 1, false},
     kUsual,
     {{40.6, 32}, {40.4, 32}, {14.8, 38}, {6.1, 48}, {9.9, 36}, {9.9, 36}}},
    {{"two chunks", 8, 16, 1, false},
     kUsual,
     {{19.9, 56}, {26.0, 46}, {7.2, 58}, {0.0, 96}, {1.2, 64}, {2.2, 54}}},
    {{"loop", 4, 4, 1, false},
     kTotals,
     {{45.4, 8}, {44.7, 8}, {29.4, 11}, {7.4, 12}, {12.1, 8}, {12.1, 8}}},
    {{"loop", 4, 8, 1, false},
     kTotals,
     {{28.2, 16}, {31.2, 12}, {10.4, 22}, {0.0, 24}, {1.0, 16}, {6.4, 15}}},
    {{"loop", 4, 16, 1, false},
     kTotals,
     {{15.7, 32}, {27.1, 12}, {2.8, 31}, {0.0, 48}, {0.0, 32}, {2.1, 25}}},
    {{"loop", 8, 4, 1, false},
     kTotals,
     {{60.8, 8}, {67.7, 8}, {47.5, 12}, {35.9, 12}, {35.5, 10}, {35.9, 12}}},
    {{"loop", 8, 8, 1, false},
     kTotals,
     {{49.2, 16}, {47.9, 16}, {33.6, 23}, {12.0, 24}, {14.1, 16}, {14.1, 16}}},
    {{"loop", 8, 16, 1, false},
     kTotals,
     {{31.2, 32}, {39.8, 24}, {13.1, 43}, {0.0, 48}, {3.0, 32}, {9.3, 31}}},
    {{"loop", 4, 4, 1, false},
     kDearHop,
     {{47.0, 8}, {51.6, 8}, {23.3, 12}, {17.3, 12}, {19.5, 8}, {19.5, 8}}},
    {{"loop", 4, 8, 1, false},
     kDearHop,
     {{31.9, 16}, {34.7, 12}, {8.8, 18}, {0.0, 24}, {1.8, 16}, {6.7, 16}}},
    {{"loop", 4, 16, 1, false},
     kDearHop,
     {{16.7, 32}, {26.5, 12}, {5.1, 26}, {0.0, 48}, {0.0, 32}, {3.6, 26}}},
    {{"loop", 8, 4, 1, false},
     kDearHop,
     {{69.6, 8}, {70.1, 8}, {53.9, 12}, {48.3, 12}, {51.0, 11}, {48.3, 12}}},
    {{"loop", 8, 8, 1, false},
     kDearHop,
     {{50.3, 16}, {55.4, 16}, {26.9, 24}, {19.9, 24}, {24.1, 16}, {24.1, 16}}},
    {{"loop", 8, 16, 1, false},
     kDearHop,
     {{34.9, 32}, {41.8, 24}, {12.6, 38}, {0.0, 48}, {4.1, 32}, {7.6, 32}}},
    {{"loop", 4, 4, 1, false},
     kDearestHop,
     {{58.2, 8}, {63.4, 8}, {37.6, 12}, {31.3, 12}, {33.7, 8}, {33.7, 8}}},
    {{"loop", 4, 8, 1, false},
     kDearestHop,
     {{36.2, 16}, {50.8, 12}, {14.6, 21}, {3.3, 24}, {5.7, 16}, {9.5, 16}}},
    {{"loop", 4, 16, 1, false},
     kDearestHop,
     {{23.1, 32}, {41.5, 12}, {5.8, 31}, {0.0, 48}, {2.1, 32}, {2.7, 29}}},
    {{"loop", 8, 4, 1, false},
     kDearestHop,
     {{77.3, 8}, {78.5, 8}, {65.4, 12}, {61.9, 12}, {62.8, 12}, {61.9, 12}}},
    {{"loop", 8, 8, 1, false},
     kDearestHop,
     {{61.1, 16}, {67.6, 16}, {40.7, 24}, {35.4, 24}, {36.7, 18}, {36.7, 18}}},
    {{"loop", 8, 16, 1, false},
     kDearestHop,
     {{39.6, 32}, {56.1, 24}, {18.6, 45}, {5.0, 48}, {7.8, 32}, {13.0, 32}}},
    {{"apart", 2, 4, 1, false},
     kTotals,
     {{37.1, 4}, {38.1, 2}, {9.2, 4}, {9.2, 8}, {9.2, 8}, {9.2, 6}}},
    {{"apart", 2, 8, 1, false},
     kTotals,
     {{36.0, 8}, {37.1, 2}, {4.1, 8}, {4.1, 16}, {4.1, 16}, {4.1, 10}}},
    {{"apart", 2, 16, 1, false},
     kTotals,
     {{35.5, 16}, {36.6, 2}, {4.4, 16}, {4.0, 32}, {4.0, 32}, {4.0, 18}}},
    {{"apart", 4, 4, 1, false},
     kTotals,
     {{50.9, 4}, {54.3, 4}, {32.4, 5}, {25.1, 8}, {25.1, 8}, {25.1, 8}}},
    {{"apart", 4, 8, 1, false},
     kTotals,
     {{43.8, 8}, {48.6, 4}, {18.8, 8}, {13.8, 16}, {13.8, 16}, {13.8, 12}}},
    {{"apart", 4, 16, 1, false},
     kTotals,
     {{39.7, 16}, {45.2, 4}, {9.7, 16}, {6.9, 32}, {6.9, 32}, {6.9, 20}}},
};

std::array<ScheduleOptions, 6> options_of(const GanCase& test) {
  const int per_worker = test.place == "two chunks" ? 2 : 1;
  return {{{.policy = SchedulePolicy::kByPass},
           {.policy = SchedulePolicy::kOneForwardOneBackward},
           {.backward = BackwardKind::kFused},
           {},
           {.max_stored = 2 * test.microbatches * per_worker},
           {.max_stored = (test.microbatches + test.workers) * per_worker}}};
}

std::string text_of(const GanCase& test, std::size_t option) {
  return test.place + " p" + std::to_string(test.workers) + " m" +
         std::to_string(test.microbatches) + " critic " + std::to_string(test.critic_steps) +
         (test.reuses_fakes ? " reuse" : "") + " option " + std::to_string(option);
}

TEST(SimulatedBubbles, AreThoseOfTheReference) {
  for (const Row& row : kRows) {
    const std::array<ScheduleOptions, 6> options = options_of(row.test);
    for (std::size_t i = 0; i < options.size(); ++i) {
      const Simulation simulation = simulated(row.test, options[i], row.profile);
      EXPECT_NEAR(100.0 * simulation.bubble(), row.figures[i].bubble_percent, 0.1)
          << text_of(row.test, i);
      EXPECT_EQ(peak_stored(simulation), row.figures[i].peak_stored) << text_of(row.test, i);
    }
  }
}

}  // namespace
}  // namespace gangway::pipeline
