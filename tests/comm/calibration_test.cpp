// SPDX-License-Identifier: MIT
#include "comm/calibrate/calibration.hpp"

#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "comm/calibrate/calibrator.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/comm/toy_job.hpp"

namespace gangway::comm {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Machines = std::vector<int>;

PathFigures path(PathKind kind, double small, double large) {
  return {.path = kind, .points = {{4096, small}, {1U << 20U, large}}};
}

Calibration within_a_host(double memory, double messages) {
  return {{path(PathKind::kSharedMemory, 1e-6, memory),
           path(PathKind::kMessagesWithinHost, 3e-6, messages)}};
}

TEST(Calibration, NamesThePathsThatWorkersCouldTake) {
  EXPECT_THAT(possible_paths(Machines{0}), IsEmpty());
  EXPECT_THAT(possible_paths(Machines{0, 0}),
              ElementsAre(PathKind::kSharedMemory, PathKind::kMessagesWithinHost));
  EXPECT_THAT(possible_paths(Machines{0, 1}), ElementsAre(PathKind::kMessagesBetweenHosts));
  EXPECT_EQ(possible_paths(Machines{0, 1, 1}).size(), 3U);
}

TEST(Calibration, ChoosesSharedMemoryUnlessMessagesAreClearlyFaster) {
  EXPECT_EQ(choose_transport(within_a_host(1e-4, 3e-4), Machines{0, 0}), TransportKind::kShm);
  EXPECT_EQ(choose_transport(within_a_host(3e-4, 2e-4), Machines{0, 0}), TransportKind::kShm);
  EXPECT_EQ(choose_transport(within_a_host(3e-4, 1e-4), Machines{0, 0}), TransportKind::kMpi);
  EXPECT_EQ(choose_transport(within_a_host(1e-4, 3e-4), Machines{0, 0, 2}),
            TransportKind::kHierarchical);
}

TEST(Calibration, ChoosesMessagesWhereNoMemoryIsShared) {
  EXPECT_EQ(choose_transport(within_a_host(1e-4, 3e-4), Machines{0, 1}), TransportKind::kMpi);
  const Calibration messages_only{{path(PathKind::kMessagesWithinHost, 3e-6, 1e-4)}};
  EXPECT_EQ(choose_transport(messages_only, Machines{0, 0}), TransportKind::kMpi);
}

TEST(Calibration, ComparesTheLargestSizeThatBothWereMeasuredAt) {
  Calibration calibration = within_a_host(1e-4, 3e-4);
  calibration.paths[0].points.push_back({4U << 20U, 1.0});  // messages have no such size
  EXPECT_EQ(choose_transport(calibration, Machines{0, 0}), TransportKind::kShm);
}

TEST(Calibration, SurvivesItsFile) {
  const Calibration calibration = within_a_host(1.0 / 3.0, 0.1 + 0.2);
  const std::string text = to_json(calibration, TransportKind::kShm);
  EXPECT_EQ(parse_calibration(text), calibration);
  EXPECT_THAT(text, HasSubstr(R"("chosen": "shm")"));
}

TEST(Calibration, SaysWhatIsWrongWithAFile) {
  for (
      const char* text :
      {"", "{}", "[1]", R"({"version": 2, "paths": []})",
       R"({"version": 1, "paths": [{"path": "pigeons", "points": []}]})",
       R"({"version": 1, "paths": [{"path": "shared memory", "points": []}]})",
       R"({"version": 1, "paths": [{"path": "shared memory", "points": [{"bytes": 1, "seconds": -1}]}]})"}) {
    SCOPED_TRACE(text);
    try {
      (void)parse_calibration(text);
      FAIL() << "was taken";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr("remove it"));
    }
  }
}

TEST(Calibration, DescribesLatencyAndBandwidth) {
  EXPECT_EQ(describe(within_a_host(1e-4, 5e-4), Machines{0, 0}),
            "shm (shared memory 1.0 us, 10.5 GB/s; messages within a host 3.0 us, 2.1 GB/s)");
}

/// Returns each worker's final calibration, by worker.
std::vector<Calibration> calibrate_all(const Machines& machines,
                                       const std::optional<Calibration>& recorded) {
  const int num_workers = static_cast<int>(machines.size());
  LoopbackHub hub(num_workers);
  const std::string token = fresh_token();
  std::vector<Calibration> found(machines.size());
  spawn_ranks(num_workers, [&](int worker) {
    LoopbackTransport transport(hub, worker);
    found[static_cast<std::size_t>(worker)] =
        calibrate(transport, {.machines = machines,
                              .token = token,
                              .recorded = worker == 0 ? recorded : std::nullopt,
                              .budget = 50ms});
  });
  return found;
}

TEST(Calibrator, GivesAllWorkersTheSameNumbersOfAllPaths) {
  for (const Machines& machines : {Machines{0, 0}, Machines{0, 1}, Machines{0, 0, 2, 2},
                                   Machines{0, 1, 1}, Machines{0, 1, 1, 0}}) {
    SCOPED_TRACE(testing::PrintToString(machines));
    const std::vector<Calibration> found = calibrate_all(machines, std::nullopt);
    std::vector<PathKind> paths;
    for (const PathFigures& figures : found.front().paths) {
      paths.push_back(figures.path);
      EXPECT_EQ(figures.points.front().bytes, 4096U);
    }
    EXPECT_EQ(paths, possible_paths(machines));
    for (const Calibration& other : found) {
      EXPECT_EQ(other, found.front());
    }
  }
}

TEST(Calibrator, UsesARecordInsteadOfMeasuring) {
  const Calibration recorded = within_a_host(0.25, 0.5);
  for (const Calibration& found : calibrate_all({0, 0, 0}, recorded)) {
    EXPECT_EQ(found, recorded);
  }
}

TEST(Calibrator, MeasuresAnewWhereARecordLacksAPath) {
  const std::vector<Calibration> found = calibrate_all({0, 0, 2}, within_a_host(0.25, 0.5));
  EXPECT_EQ(found.front().paths.size(), 3U);
  EXPECT_EQ(found.back(), found.front());
}

}  // namespace
}  // namespace gangway::comm
