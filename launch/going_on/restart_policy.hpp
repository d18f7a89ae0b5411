// SPDX-License-Identifier: MIT
// Decides whether, and after what wait, a job restarts after it lost a process or a host. A start
// made progress if the next start begins at a later step than it did: its training was saved. Pure;
// called by `gangway run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace gangway::launch {

class RestartPolicy {
 public:
  /// Number of starts in a row without progress that ends the job.
  static constexpr int kMostInVain = 3;

  /// @param most  layout.restarts
  explicit RestartPolicy(int most) : most_(most) {}

  /// Records a lost start. @param begun  step at which it began; nullopt: it had not begun
  /// @return wait before the next start; nullopt: no further start
  [[nodiscard]] std::optional<std::chrono::milliseconds> lost(std::optional<std::int64_t> begun);
  /// Forgets the last step after a rollback, so that the next start does not count as a repetition.
  void rolled_back() { last_begun_.reset(); }
  /// True if another start follows whenever the next start is lost.
  [[nodiscard]] bool goes_on() const;
  /// Returns one line with the reason why lost() returned nullopt.
  [[nodiscard]] std::string why_not() const;

 private:
  int most_;
  int num_starts_ = 0;
  int num_in_vain_ = 0;                     ///< in a row
  std::optional<std::int64_t> last_begun_;  ///< first step of the last start that began
};

}  // namespace gangway::launch
