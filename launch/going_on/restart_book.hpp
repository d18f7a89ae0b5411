// SPDX-License-Identifier: MIT
// Whether a job that has lost a process or a host is started again, and after what time. A start
// has got on where the next one begins at a later step than all before it: what it has trained was
// kept. Pure; driven by `gangway run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace gangway::launch {

class RestartBook {
 public:
  /// Starts in a row without progress that end the job.
  static constexpr int kMostInVain = 3;

  /// @param most  layout.restarts
  explicit RestartBook(int most) : most_(most) {}

  /// A start was lost. @param begun  the step that it had begun at; nothing: it had not begun
  /// @return how long to wait before the next; nothing: there is none
  [[nodiscard]] std::optional<std::chrono::milliseconds> lost(std::optional<std::int64_t> begun);
  /// Training goes back by decision: what comes next is no repetition.
  void rolled_back() { last_begun_.reset(); }
  /// Whether another start follows when the next one is lost, whatever it does.
  [[nodiscard]] bool goes_on() const;
  /// Why lost() gave nothing: one line.
  [[nodiscard]] std::string why_not() const;

 private:
  int most_;
  int num_starts_ = 0;
  int num_in_vain_ = 0;                     ///< in a row
  std::optional<std::int64_t> last_begun_;  ///< step at which the last start that began has
};

}  // namespace gangway::launch
