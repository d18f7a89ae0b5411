// SPDX-License-Identifier: MIT
// What mpirun is given at each start of one `gangway run`: with which hosts, how many workers, and
// from where the training goes on. Main thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/file/parse.hpp"
#include "launch/going_on/host_returns.hpp"
#include "launch/going_on/lineups.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/environment.hpp"
#include "launch/run/job_hosts.hpp"
#include "launch/run/prepare.hpp"
#include "launch/run/run_options.hpp"
#include "launch/run/supervise.hpp"
#include "run/run_files.hpp"
#include "run/start_request.hpp"

namespace gangway::launch {

/// What a start after a rollback is to go on from.
///
/// @param asked  --resume as the user gave it
/// @return "auto", or the path that was given, where the run has no checkpoint of its own that is
/// as old as the newest rollback
[[nodiscard]] std::string resume_after_rollback(const std::string& asked,
                                                const std::filesystem::path& run);

/// The words that continue a run after it has saved: those typed; where they would start at another
/// place again (--resume never or a path), with the run named and --resume auto.
[[nodiscard]] std::string resume_line(std::vector<std::string> typed,
                                      const std::string& run_directory_name);

class Starts {
 public:
  /// @param asked  by the user. @param prepared  which all starts train, whatever the job's files
  /// are by then
  Starts(RunOptions asked, Environment environment, std::vector<std::string> typed,
         Prepared prepared, std::filesystem::path run);
  Starts(const Starts&) = delete;  // its questions point to it
  Starts& operator=(const Starts&) = delete;

  /// Checks that all hosts are ready. @param goes_on  whether another start follows a loss
  [[nodiscard]] SupervisedJob first(bool goes_on);
  void after_rollback(SupervisedJob& job);
  /// @param status  says with which workers, or shares, the start is to go on
  void after_resize(SupervisedJob& job, const RunStatus& status);
  /// @param lost  rank of a worker; 0: another process, or unknown
  /// @param wait  for so long; false: not, or not to its end
  /// @return false where what is left cannot train the job
  [[nodiscard]] bool after_loss(SupervisedJob& job, int lost, bool goes_on,
                                const std::function<bool(std::chrono::milliseconds)>& wait);

  /// Copies what the run has in memory to the disk, on all hosts that answer, where memory may go
  /// before a start by another command. @pre no process of the job lives
  void keep_snapshots() const;

  [[nodiscard]] const Lineups& lineups() const { return lineups_; }

  /// As SupervisedJob has it: asks hosts that were left out, and has the run resized for those that
  /// answer.
  [[nodiscard]] std::vector<std::string> errand(const std::optional<std::string>& said);

 private:
  /// Wants so many, on the hosts that the hostfile names by now.
  void resize(int workers);
  /// As LineupQuestions has it.
  [[nodiscard]] bool give_up_places();
  [[nodiscard]] const Lineup& lineup() const { return lineups_.now(); }
  void use(SupervisedJob& job, const std::string& resume, bool goes_on);
  /// @throws ConfigError where its layout names a host without a worker
  [[nodiscard]] JobSpec job_on(const Lineup& lineup) const;
  /// Whether its layout goes with them.
  [[nodiscard]] bool is_possible(const Lineup& lineup) const;
  /// A note where the user has edited the job since.
  void tell_of_edits() const;
  [[nodiscard]] StartRequest request_of_start(const std::string& resume, bool goes_on) const;

  RunOptions asked_;
  Environment environment_;
  std::vector<std::string> typed_;
  ResolvedJob as_read_;
  JobSpec spec_;  ///< on the hosts of the first start
  std::filesystem::path run_;
  Lineups lineups_;
  std::vector<int> shares_;   ///< of the workers' micro-batches, balanced; empty: as the job has it
  bool is_together_ = false;  ///< every worker has all networks, whatever the job says
  MpirunRequest request_;
  HostReturns returns_;
  std::vector<Host> asked_hosts_;  ///< by the errand that runs
  int workers_with_returned_ = 0;  ///< that the run was asked to go on with; 0: it was not
  std::chrono::duration<double> usual_check_{0};  ///< of all hosts, at the first start
  bool is_again_ = false;                         ///< this command has made a start before
};

}  // namespace gangway::launch
