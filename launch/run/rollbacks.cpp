// SPDX-License-Identifier: MIT
#include "launch/run/rollbacks.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/store/scan.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "run/decision_file.hpp"
#include "run/run_files.hpp"

namespace gangway::launch {
namespace {

/// Whether the job has ended to be started again.
bool is_to_go_on(const std::optional<RunStatus>& status, int exit_code) {
  return status && status->exit_code == exit_code &&
         ((exit_code == static_cast<int>(ExitCode::kDiverged) && status->rolled_back) ||
          (exit_code == static_cast<int>(ExitCode::kPreempted) && !status->drained.empty()));
}

}  // namespace

std::string resume_after_rollback(const std::string& asked, const std::filesystem::path& run) {
  if (asked == "auto" || asked == "must" || asked == "never") {
    return "auto";  // the coordinator passes over what lies behind the rollback
  }
  const auto decisions = read_decisions(run);
  const auto checkpoints = checkpoint::list_checkpoints(run / kCheckpointsFolder);
  const bool has_own =
      decisions && !decisions->empty() &&
      std::ranges::any_of(checkpoints, [&](const checkpoint::CheckpointEntry& entry) {
        // Up to the branch it is of what the run was before it began with that path.
        return entry.status == checkpoint::CheckpointStatus::kComplete &&
               entry.step > origin_of(*decisions) && entry.step <= decisions->back().change.step;
      });
  return has_own ? "auto" : asked;
}

std::string resume_line(std::vector<std::string> typed, const std::string& run_directory_name) {
  const std::string option = "--resume";
  const auto goes_on = [](const std::string& value) { return value == "auto" || value == "must"; };
  bool is_new = false;
  for (std::size_t index = 0; index < typed.size(); ++index) {
    std::string& word = typed[index];
    if (word.starts_with(option + "=") && !goes_on(word.substr(option.size() + 1))) {
      word = option + "=auto";
      is_new = true;
    } else if (word == option && index + 1 < typed.size() && !goes_on(typed[index + 1])) {
      typed[index + 1] = "auto";
      is_new = true;
    }
  }
  if (is_new) {
    typed.insert(typed.end(), {"--run", run_directory_name});
  }
  return shell_line(typed);
}

void tell_start(const SupervisedJob& job) {
  std::cout << fmt::format("start  {} processes by mpirun", job.ranks)
            << (job.tells_command ? ": " + shell_line(job.command) : "") << std::endl;
}

int supervise_through_rollbacks(SupervisedJob job, const PrepareStart& prepare) {
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, nullptr, &before);
  while (true) {
    const SupervisedEnd end = supervise(job);
    const auto status = read_status(job.run_directory);
    if (!is_to_go_on(status, end.exit_code)) {
      return end.exit_code;
    }
    if (end.was_to_leave) {
      const std::string reason = "stopped on request before it went on: the same command goes on";
      std::cerr << "gangway: " << reason << std::endl;
      write_status(job.run_directory,
                   {.exit_code = static_cast<int>(ExitCode::kPreempted), .reason = reason});
      return static_cast<int>(ExitCode::kPreempted);
    }
    // The supervisor keeps signals back, and the next one's mpirun would inherit that. One that has
    // come since ends this process here: nothing runs, and the same command goes on.
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    prepare(job, status->drained);
    clear_status(job.run_directory);
    std::filesystem::remove(job.run_directory / kPlacementFile);
    tell_start(job);
  }
}

}  // namespace gangway::launch
