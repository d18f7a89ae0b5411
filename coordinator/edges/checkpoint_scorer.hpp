// SPDX-License-Identifier: MIT
// Has checkpoints scored behind the training, one after the other, by `gangway-model evaluate` at
// the lowest priority: a score never holds up a step, and what fails costs a warning. Owned by the
// event loop and used on its thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/file_descriptor.hpp"
#include "job/evaluation.hpp"

namespace gangway::coordinator {

struct ScorerSettings {
  std::filesystem::path program;  ///< gangway-model
  std::filesystem::path run_directory;
  ScorePlace where = ScorePlace::kBeside;  ///< kSpare: another's scores are waited for
  std::chrono::seconds limit{1800};        ///< for one score
};

/// What became of a checkpoint that was to be scored.
struct ScoringEnd {
  std::int64_t step = 0;
  std::string error;  ///< empty: its score lies beside it
};

class CheckpointScorer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit CheckpointScorer(ScorerSettings settings);
  /// Ends what is under way.
  ~CheckpointScorer();
  CheckpointScorer(const CheckpointScorer&) = delete;
  CheckpointScorer& operator=(const CheckpointScorer&) = delete;

  /// The checkpoint of `step` is to be scored as soon as the one under way is. Where training is
  /// faster than scoring, only the newest waits.
  /// @return the step that waited and is passed over for this one, if there is any.
  std::optional<std::int64_t> want(std::int64_t step);
  /// Starts, looks whether something has ended, ends what takes too long. Never waits.
  std::optional<ScoringEnd> poll(Time now);

  [[nodiscard]] bool is_busy() const { return child_ > 0 || waiting_.has_value(); }
  /// Checkpoints that must not be removed.
  [[nodiscard]] std::set<std::int64_t> steps() const;

 private:
  /// @return why it could not be started; empty: it was
  std::string start(std::int64_t step, Time now);
  ScoringEnd ended(std::string error);
  void end_child();

  ScorerSettings settings_;
  std::optional<std::int64_t> waiting_;
  std::int64_t step_ = 0;           ///< of the child
  pid_t child_ = 0;                 ///< 0: none
  std::vector<pid_t> killed_ = {};  ///< not waited for yet
  Time deadline_{};
  FileDescriptor words_;  ///< what the child writes to its standard error
};

}  // namespace gangway::coordinator
