// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdio>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/store/scan.hpp"
#include "checkpoint/store/scores.hpp"
#include "launch/model/commands.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::hours kPatience{1};
/// Polling period for a folder that another process writes to.
constexpr std::chrono::milliseconds kLook{500};

class Following {
 public:
  explicit Following(const RunChoice& choice) : choice_(choice) {}

  /// Waits for the run's directory and returns it.
  fs::path wait_for_run() {
    for (bool is_said = false;; is_said = true) {
      if (const auto found = try_find_directory(choice_)) {
        return *found;
      }
      if (!is_said) {
        say(fmt::format("waits for run '{}' in {}", choice_.run, choice_.outdir.string()));
      }
      look_later("run '" + choice_.run + "' has not begun");
    }
  }

  void look_later(const std::string& what) const {
    if (Clock::now() - since_ > kPatience) {
      throw EnvironmentError(fmt::format(
          "{} for an hour: this command stops waiting; type it again to continue", what));
    }
    std::this_thread::sleep_for(kLook);
  }

  void something_came() { since_ = Clock::now(); }

  static void say(const std::string& line) {
    fmt::print("follow  {}\n", line);
    (void)std::fflush(stdout);
  }

 private:
  const RunChoice& choice_;
  Clock::time_point since_ = Clock::now();
};

/// Returns the newest complete checkpoint, unless it has a score or is in `given_up`.
std::optional<checkpoint::CheckpointEntry> unscored(const fs::path& checkpoints,
                                                    const std::set<std::string>& given_up) {
  const auto entries = checkpoint::list_checkpoints(checkpoints);
  const auto scores = checkpoint::read_scores(checkpoints, entries);
  const checkpoint::CheckpointEntry* newest = checkpoint::newest_complete(entries);
  return newest == nullptr || scores.contains(newest->step) ||
                 given_up.contains(newest->manifest->checkpoint_id)
             ? std::nullopt
             : std::optional(*newest);
}

}  // namespace

void follow_scores(const EvaluateOptions& options) {
  Following following(options.run);
  const fs::path run = following.wait_for_run();
  EvaluateOptions one = options;
  one.format = OutputFormat::kRecord;
  one.run.run = run.string();
  std::set<std::string> given_up;
  for (;;) {
    // Read first: the next poll then finds checkpoints saved after it.
    const bool has_ended = read_status(run).has_value();
    if (const auto entry = unscored(run / kCheckpointsFolder, given_up)) {
      one.run.step = entry->step;
      try {
        evaluate(one);
        (void)std::fflush(stdout);
      } catch (const Error& error) {
        given_up.insert(entry->manifest->checkpoint_id);
        Following::say(fmt::format("step {} gets no score: {}", entry->step, error.what()));
      }
      following.something_came();
    } else if (has_ended) {
      return;
    } else {
      following.look_later(run.string() + " has saved nothing new");
    }
  }
}

void await_score(const EvaluateOptions& options) {
  Following following(options.run);
  const fs::path checkpoints = following.wait_for_run() / kCheckpointsFolder;
  const std::int64_t step = checkpoint::find_checkpoint(checkpoints, options.run.step).step;
  for (;;) {
    const auto scores =
        checkpoint::read_scores(checkpoints, checkpoint::list_checkpoints(checkpoints));
    if (scores.contains(step)) {
      return;
    }
    if (scores.upper_bound(step) != scores.end()) {
      throw CheckpointError("a newer checkpoint was scored instead");
    }
    following.look_later(fmt::format("step {} has got no score", step));
  }
}

}  // namespace gangway::launch
