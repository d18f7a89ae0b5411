// SPDX-License-Identifier: MIT
#include "coordinator/io/checkpoint_scorer.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/atomic_file.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostBytes = 4096;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Scorer : public ::testing::Test {
 protected:
  /// Runs a script instead of gangway-model.
  ScorerSettings settings(const std::string& script) {
    const fs::path program = folder_.path() / "program";
    write_file_atomically(program, "#!/bin/sh\n" + script + "\n");
    EXPECT_EQ(::chmod(program.c_str(), 0700), 0);
    return {.program = program, .run_directory = folder_.path()};
  }
  static ScoringEnd wait_for_end(CheckpointScorer& scorer) {
    const auto limit = steady_clock::now() + seconds(30);
    while (steady_clock::now() < limit) {
      if (auto end = scorer.poll(steady_clock::now())) {
        return *end;
      }
      std::this_thread::yield();
    }
    return {.step = -1, .error = "nothing has ended"};
  }
  testing::ScratchFolder folder_;
};

TEST_F(Scorer, AsksForTheScoreOfTheStepAtTheLowestPriority) {
  CheckpointScorer scorer(settings("echo \"$@\" > \"$2/words\"; nice > \"$2/nice\""));
  EXPECT_FALSE(scorer.is_busy());
  EXPECT_FALSE(scorer.want(7));
  EXPECT_TRUE(scorer.is_busy());
  const ScoringEnd end = wait_for_end(scorer);
  EXPECT_EQ(end.step, 7);
  EXPECT_EQ(end.error, "");
  EXPECT_FALSE(scorer.is_busy());
  EXPECT_EQ(read_small_file(folder_.path() / "words", kMostBytes),
            "evaluate " + folder_.path().string() + " --step 7 --threads 1 --record\n");
  EXPECT_EQ(read_small_file(folder_.path() / "nice", kMostBytes), "19\n");
}

TEST_F(Scorer, WaitsForAScoreThatIsTakenElsewhereOrTakesItOnTheDevice) {
  const auto expect_words = [this](ScorePlace where, const std::string& last) {
    ScorerSettings placed = settings("echo \"$@\" > \"$2/words\"");
    placed.where = where;
    CheckpointScorer scorer(placed);
    (void)scorer.want(7);
    EXPECT_EQ(wait_for_end(scorer).error, "");
    EXPECT_EQ(read_small_file(folder_.path() / "words", kMostBytes),
              "evaluate " + folder_.path().string() + " --step 7 --threads 1 " + last + "\n");
  };
  expect_words(ScorePlace::kSpare, "--await");
  expect_words(ScorePlace::kDevice, "--record --device cuda");
}

TEST_F(Scorer, SaysWhyThereIsNone) {
  CheckpointScorer scorer(settings("echo first >&2; echo 'gangway-model: no data' >&2; exit 6"));
  (void)scorer.want(3);
  EXPECT_EQ(wait_for_end(scorer).error, "gangway-model: no data");
  CheckpointScorer silent(settings("exit 4"));
  (void)silent.want(3);
  EXPECT_THAT(wait_for_end(silent).error, HasSubstr("exit code 4"));
  CheckpointScorer killed(settings("kill -9 $$"));
  (void)killed.want(3);
  EXPECT_THAT(wait_for_end(killed).error, HasSubstr("signal 9"));
}

TEST_F(Scorer, PassesOverAllButTheNewestThatWaits) {
  ScorerSettings slow = settings("exec sleep 100");
  CheckpointScorer scorer(slow);
  (void)scorer.want(1);
  (void)scorer.poll(steady_clock::now());
  EXPECT_FALSE(scorer.want(2));
  EXPECT_THAT(scorer.steps(), ElementsAre(1, 2));
  EXPECT_EQ(scorer.want(3), 2);
  EXPECT_THAT(scorer.steps(), ElementsAre(1, 3));
}

TEST_F(Scorer, EndsWhatTakesTooLong) {
  while (::waitpid(-1, nullptr, 0) > 0) {  // processes that earlier tests killed
  }
  ScorerSettings slow = settings("exec sleep 100");
  CheckpointScorer scorer(slow);
  (void)scorer.want(1);
  (void)scorer.poll(steady_clock::now());
  const auto end = scorer.poll(steady_clock::now() + slow.limit);
  ASSERT_TRUE(end);
  EXPECT_THAT(end->error, HasSubstr("more than"));
  EXPECT_THAT(scorer.steps(), IsEmpty());
  const auto limit = steady_clock::now() + seconds(30);
  siginfo_t info{};
  const auto has_child = [&] {
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  };
  while (has_child() && steady_clock::now() < limit) {
    (void)scorer.poll(steady_clock::now());
    std::this_thread::yield();
  }
  EXPECT_FALSE(has_child()) << "a process that nobody has waited for";
}

}  // namespace
}  // namespace gangway::coordinator
