// SPDX-License-Identifier: MIT
// Runs that lose processes and hosts, in virtual time: by WORLDS seeds from WORLD_SEED on, both of
// the environment.
#include "tests/launch/world/world.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "job/file/parse.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

constexpr std::uint64_t kWorlds = 1'000;

std::uint64_t environment_number(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

class LostProcesses : public ::testing::Test {
 protected:
  /// @param layout  lines of part layout
  [[nodiscard]] coordinator::StartedRun begun(const std::string& layout, const std::string& name) {
    std::filesystem::create_directory(folder_.path() / name);
    JobSpec spec = parse_job(fmt::format(R"(
model: {{family: mlp, width: 32, latent: 2}}
data: {{source: "toy:ring8"}}
training: {{kimg: {}, batch: 64, microbatches: {}}}
checkpoint: {{every_steps: {}, snapshot_steps: {}}}
output: {{tick_kimg: {}, pictures_kimg: 0}}
layout: {{timeout_seconds: 3{}}}
)",
                                         kTotalSteps * 0.064, kMicrobatches, kCheckpointSteps,
                                         kSnapshotSteps, kTickSteps * 0.064, layout),
                             name);
    return {.spec = std::move(spec),
            .job_yaml = {},
            .directory = folder_.path() / name,
            .lock = RunLock(folder_.path() / name)};
  }

  gangway::testing::ScratchFolder folder_;
  coordinator::StartedRun one_group_ = begun("", "data");
  coordinator::StartedRun apart_ = begun(", generator: [1], discriminator: [2, 3]", "apart");
  coordinator::StartedRun stages_ = begun(", stages: 2", "stages");
};

TEST_F(LostProcesses, AreSurvivedWithoutALostStepWhateverIsLostAndWhen) {
  const std::uint64_t first = environment_number("WORLD_SEED", 1);
  const std::uint64_t worlds = environment_number("WORLDS", kWorlds);
  std::cout << fmt::format("seeds {} to {}\n", first, first + worlds - 1);
  const auto begin = std::chrono::steady_clock::now();
  int losses = 0;
  std::array<int, kNumBlows> blows{};
  for (std::uint64_t seed = first; seed < first + worlds; ++seed) {
    World world(seed, {&one_group_, &apart_, &stages_});
    world.run();
    losses += world.losses();
    for (std::size_t kind = 0; kind < blows.size(); ++kind) {
      blows[kind] += world.blows()[kind];
    }
    ASSERT_TRUE(world.problems().empty()) << "WORLD_SEED=" << seed << "\n" << world.story();
    if (worlds == 1) {
      std::cout << world.story();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << fmt::format("{} losses in {:.2f} s, {:.0f} a second\n", losses, took.count(),
                           losses / took.count());
  for (std::size_t kind = 1; kind < blows.size() && worlds >= kWorlds; ++kind) {
    EXPECT_GT(blows[kind], 0) << "nobody did this: " << kind;
  }
}

}  // namespace
}  // namespace gangway::launch
