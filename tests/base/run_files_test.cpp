// SPDX-License-Identifier: MIT
#include "run/run_files.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using testing::ScratchFolder;

std::string text_of(const ScratchFolder& folder, std::string_view name) {
  return read_small_file(folder.path() / name, 1U << 16U).value_or("nothing");
}

TEST(RunFiles, HoldTheJobAndTheCommand) {
  const ScratchFolder folder;
  write_job(folder.path(), "model:\n");
  write_command(folder.path(), "gangway run x.yaml");
  EXPECT_EQ(text_of(folder, kJobFile), "model:\n");
  EXPECT_EQ(text_of(folder, kCommandFile), "gangway run x.yaml\n");
}

TEST(RunFiles, HoldTheStatus) {
  const ScratchFolder folder;
  EXPECT_EQ(read_status(folder.path()), std::nullopt);
  const RunEnd status{.exit_code = 3, .reason = "rank 2 \"died\"\n"};
  write_status(folder.path(), status);
  EXPECT_EQ(read_status(folder.path()), status);
  const RunEnd keeping{.exit_code = 3, .reason = "lost", .keeps = true};
  write_status(folder.path(), keeping);
  EXPECT_EQ(read_status(folder.path()), keeping);
  const RunEnd resized{.exit_code = 75,
                       .saved = true,
                       .resize = Resize{.workers = 3, .drained = {Rank(2)}, .shares = {2, 1, 1}}};
  write_status(folder.path(), resized);
  EXPECT_EQ(read_status(folder.path()), resized);
}

TEST(RunFiles, TakeADamagedStatusForNone) {
  const ScratchFolder folder;
  for (const char* text :
       {"", "{", "[1]", "{}", "{\"exit_code\": \"3\"}", "{\"exit_code\": 3.5}"}) {
    write_file_atomically(folder.path() / kStatusFile, text);
    EXPECT_EQ(read_status(folder.path()), std::nullopt) << text;
  }
  for (const char* text : {"{\"exit_code\": 3}", "{\"exit_code\": 3, \"reason\": 5}"}) {
    write_file_atomically(folder.path() / kStatusFile, text);
    EXPECT_EQ(read_status(folder.path()), (RunEnd{.exit_code = 3, .reason = ""})) << text;
  }
}

TEST(RunFiles, ForgetTheAttemptBefore) {
  const ScratchFolder folder;
  write_status(folder.path(), {.exit_code = 3, .reason = "x"});
  write_file_atomically(folder.path() / kErrorFile, "{}");
  clear_status(folder.path());
  clear_status(folder.path());
  EXPECT_EQ(text_of(folder, kStatusFile), "nothing");
  EXPECT_EQ(text_of(folder, kErrorFile), "nothing");
  std::filesystem::create_directories(folder.path() / kStatusFile);
  EXPECT_THROW(clear_status(folder.path()), EnvironmentError);
}

TEST(RunFiles, HoldThePlacement) {
  const ScratchFolder folder;
  PlacedRank coordinator;
  coordinator.role = "coordinator";
  PlacedRank worker;
  worker.rank = Rank(1);
  worker.role = "worker";
  worker.host = "here";
  worker.pid = 9;
  worker.device = "cpu";
  worker.microbatches = {.begin = 0, .end = 2};
  write_placement(folder.path(), {coordinator, worker});
  const auto ranks = nlohmann::json::parse(text_of(folder, kPlacementFile))["ranks"];
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_FALSE(ranks[0].contains("microbatches"));
  EXPECT_EQ(ranks[1]["microbatches"], nlohmann::json::parse("[0, 2]"));
  EXPECT_EQ(ranks[1]["device"], "cpu");
}

}  // namespace
}  // namespace gangway
