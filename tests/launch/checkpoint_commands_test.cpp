// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "launch/commands.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

using checkpoint::commit_sample_in_pieces;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A run with checkpoints of the steps 10, 20 and 30.
class CheckpointCommands : public ::testing::Test {
 protected:
  CheckpointCommands() {
    for (const std::int64_t step : {10, 20, 30}) {
      (void)commit_sample_in_pieces(checkpoints, step, 2);
    }
  }

  struct Output {
    int code = 0;
    std::string text;  ///< of an error its message
  };
  /// Runs `gangway checkpoints ARGUMENTS`; RUN stands for the run's directory.
  [[nodiscard]] Output call(std::vector<std::string> arguments) const {
    for (std::string& word : arguments) {
      if (word.starts_with("RUN")) {
        word.replace(0, 3, run.string());
      }
    }
    arguments.insert(arguments.begin(), {"gangway", "checkpoints"});
    ::testing::internal::CaptureStdout();
    Output output;
    try {
      output.code = run_command_line(gangway_commands(), arguments, {});
      output.text = ::testing::internal::GetCapturedStdout();
    } catch (const Error& error) {
      (void)::testing::internal::GetCapturedStdout();
      output = {.code = static_cast<int>(error.code()), .text = error.what()};
    }
    EXPECT_FALSE(output.text.empty());
    return output;
  }
  void damage(std::int64_t step) const {
    const fs::path file = checkpoints / fmt_step(step) / checkpoint::worker_file_name(0, 2);
    std::string bytes = checkpoint::read_text(file);
    bytes[4100] ^= 1;
    checkpoint::write_text(file, bytes);
  }
  static std::string fmt_step(std::int64_t step) { return "step-0000000" + std::to_string(step); }

  const gangway::testing::ScratchFolder folder;
  const fs::path run = folder.path() / "00000-run";
  const fs::path checkpoints = run / "checkpoints";
};

TEST_F(CheckpointCommands, PinAndUnpin) {
  EXPECT_EQ(call({"pin", "RUN@10"}).code, 0);
  EXPECT_THAT(call({"ls", "RUN"}).text, HasSubstr("pinned, complete"));
  EXPECT_THAT(call({"unpin", "RUN@10"}).text, HasSubstr("may be removed again"));
  EXPECT_THAT(call({"unpin", "RUN@10"}).text, HasSubstr("was not pinned"));
  EXPECT_THAT(call({"ls", "RUN"}).text, Not(HasSubstr("pinned")));
  EXPECT_EQ(call({"pin", "RUN@11"}).code, 5);
}

TEST_F(CheckpointCommands, RmRemovesAnOldOne) {
  const Output output = call({"rm", "RUN@20"});
  EXPECT_EQ(output.code, 0) << output.text;
  EXPECT_FALSE(fs::exists(checkpoints / fmt_step(20)));
}

TEST_F(CheckpointCommands, RmRefusesTheNewestAndThePinnedUnlessForced) {
  EXPECT_EQ(call({"pin", "RUN@10"}).code, 0);
  EXPECT_THAT(call({"rm", "RUN@10"}).text, AllOf(HasSubstr("is pinned"), HasSubstr("--force")));
  EXPECT_THAT(call({"rm", "RUN@30"}).text, AllOf(HasSubstr("newest"), HasSubstr("--force")));
  EXPECT_EQ(call({"rm", "RUN@30"}).code, 2);
  EXPECT_EQ(call({"rm", "RUN"}).code, 2);
  EXPECT_EQ(call({"rm", "RUN@31"}).code, 5);
  EXPECT_TRUE(fs::exists(checkpoints / fmt_step(30)));
  EXPECT_EQ(call({"rm", "RUN@30", "--force"}).code, 0);
  EXPECT_EQ(call({"rm", "RUN@10", "--force"}).code, 0);
  EXPECT_THAT(call({"ls", "RUN"}).text, Not(HasSubstr("pinned")));
}

TEST_F(CheckpointCommands, RmRefusesWhatNothingProvesOurs) {
  fs::remove(checkpoints / fmt_step(10) / checkpoint::kManifestName);
  EXPECT_EQ(call({"rm", "RUN@10", "--force"}).code, 5);
  EXPECT_TRUE(fs::exists(checkpoints / fmt_step(10)));
}

TEST_F(CheckpointCommands, DiffSaysEqualOrNamesTheTensors) {
  const Output equal = call({"diff", "RUN@10", (checkpoints / fmt_step(10)).string()});
  EXPECT_EQ(equal.code, 0);
  EXPECT_EQ(equal.text, "equal, bit for bit\n");
  const Output different = call({"diff", "RUN@10", "RUN@20"});
  EXPECT_EQ(different.code, 1);
  EXPECT_THAT(different.text, HasSubstr("generator.0.bias: 16 of 16 elements differ"));
  damage(10);
  EXPECT_EQ(call({"diff", "RUN@10", "RUN@20"}).code, 5);
}

TEST_F(CheckpointCommands, ScrubNamesDamageAndRepairsItFromACopy) {
  const gangway::testing::ScratchFolder other;
  const fs::path copy = commit_sample_in_pieces(other.path(), 20, 3);
  EXPECT_EQ(call({"scrub", "RUN"}).code, 0);
  damage(20);
  const Output found = call({"scrub", "RUN"});
  EXPECT_EQ(found.code, 5);
  EXPECT_THAT(found.text,
              AllOf(HasSubstr("step-000000030  ok"), HasSubstr("step-000000020  DAMAGED  "),
                    HasSubstr("worker-0000-of-0002.safetensors")));
  const Output repaired = call({"scrub", "RUN@20", "--from", copy.string()});
  EXPECT_EQ(repaired.code, 0) << repaired.text;
  EXPECT_THAT(repaired.text,
              AllOf(HasSubstr("step-000000020  REPAIRED  "), HasSubstr("step-000000020  ok")));
  EXPECT_EQ(call({"verify", "RUN"}).code, 0);
}

TEST_F(CheckpointCommands, ExportRefusesNamesThatSayNoKindAndNetworksThatAreNotThere) {
  const Output kind = call({"export", "RUN", "-o", (folder.path() / "g.zip").string()});
  EXPECT_EQ(kind.code, 2);
  EXPECT_THAT(kind.text, HasSubstr(".safetensors or .onnx"));
  EXPECT_EQ(call({"export", "RUN", "-o", (folder.path() / "g.safetensors").string()}).code, 5);
  EXPECT_EQ(call({"export", "RUN"}).code, 2);
  EXPECT_EQ(call({"export", "RUN", "-o", "g.onnx", "--network", "critic"}).code, 2);
}

TEST_F(CheckpointCommands, ComplainsOfRunsAndStepsThatAreNotThere) {
  for (const std::string verb : {"ls", "verify", "show", "pin", "unpin", "rm", "scrub"}) {
    EXPECT_EQ(call({verb, "no-such-run"}).code, 2) << verb;
    EXPECT_EQ(call({verb, "RUN@x"}).code, 2) << verb;
  }
  for (const std::string verb : {"verify", "show", "pin", "rm", "scrub"}) {
    EXPECT_EQ(call({verb, "RUN@11"}).code, 5) << verb;
  }
}

}  // namespace
}  // namespace gangway::launch
