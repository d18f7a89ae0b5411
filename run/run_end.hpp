// SPDX-License-Identifier: MIT
// How a start of a run ended, and what the next start changes. The coordinator decides it, or
// `gangway run` where the coordinator cannot; status.json carries it (run/run_files.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/index.hpp"

namespace gangway {

/// Workers and shares of the next start: after a drain, a resize or a balance.
struct Resize {
  int workers = 0;
  std::set<Rank> drained = {};   ///< ranks without a successor
  std::vector<int> shares = {};  ///< micro-batches of each worker; empty: by the job
  bool operator==(const Resize&) const = default;
};

struct RunEnd {
  int exit_code = 0;         ///< an ExitCode, or 128 plus the number of a signal
  std::string reason = {};   ///< one line
  Rank rank{};               ///< worker to blame; 0: none in particular, or unknown
  std::int64_t step = 0;     ///< steps done; not in status.json
  bool is_orderly = false;   ///< all workers have said Goodbye: MPI_Finalize is safe
  bool saved = false;        ///< the run's whole state is on the disk
  bool keeps = false;        ///< processes still live and copy snapshots to the disk
  bool rolled_back = false;  ///< a decision makes the next start resume from an earlier state
  std::optional<Resize> resize = {};  ///< the next start applies it
  /// Step of the snapshot that all workers have and that is newer than any checkpoint.
  std::optional<std::int64_t> unsaved_snapshot = {};
  bool was_to_leave = false;  ///< a signal to `gangway run` asked for the end

  [[nodiscard]] bool is(ExitCode code) const { return exit_code == static_cast<int>(code); }
  bool operator==(const RunEnd&) const = default;
};

[[nodiscard]] inline RunEnd ended_by(ExitCode code, std::string reason, Rank rank = {}) {
  return {.exit_code = static_cast<int>(code), .reason = std::move(reason), .rank = rank};
}

}  // namespace gangway
