// SPDX-License-Identifier: MIT
// Builds the mpirun command for each start of one `gangway run`: hosts, number of workers, and the
// place to resume from. Main thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/file/parse.hpp"
#include "launch/going_on/host_allocator.hpp"
#include "launch/going_on/host_returns.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/environment.hpp"
#include "launch/run/job_hosts.hpp"
#include "launch/run/prepare.hpp"
#include "launch/run/supervise.hpp"
#include "run/run_files.hpp"
#include "run/start_request.hpp"

namespace gangway::launch {

/// Chooses the --resume of a start after a rollback.
/// @param asked  --resume as typed
/// @return "auto", or the typed path if the run has no checkpoint of its own that is as old as the
/// newest rollback
[[nodiscard]] std::string resume_after_rollback(const std::string& asked,
                                                const std::filesystem::path& run);

/// Returns the command that resumes a saved run: the typed words; if these would start elsewhere
/// (--resume never or a path), adds the run's name and --resume auto.
[[nodiscard]] std::string resume_line(std::vector<std::string> typed,
                                      const std::string& run_directory_name);

class Starts {
 public:
  /// @param asked  options as typed. @param prepared  job of all starts, even if its files change
  Starts(RunOptions asked, Environment environment, std::vector<std::string> typed,
         Prepared prepared, std::filesystem::path run);
  Starts(const Starts&) = delete;  // its questions hold pointers to it
  Starts& operator=(const Starts&) = delete;

  /// Checks that all hosts are ready. @param goes_on  whether another start follows a loss
  [[nodiscard]] SupervisedJob first(bool goes_on);
  void after_rollback(SupervisedJob& job);
  void after_resize(SupervisedJob& job, const Resize& asked);
  /// @param lost  rank of a worker; 0: another process, or unknown
  /// @param wait  waits for the given time; returns false if it did not wait to the end
  /// @return false if the remaining hosts cannot train the job
  [[nodiscard]] bool after_loss(SupervisedJob& job, Rank lost, bool goes_on,
                                const std::function<bool(std::chrono::milliseconds)>& wait);

  /// Copies the run's snapshots from memory to disk on all hosts that answer. Another command may
  /// start the run later, after memory is lost. @pre no process of the job lives
  void keep_snapshots() const;

  [[nodiscard]] const HostAllocator& host_allocator() const { return host_allocator_; }

  /// Implements SupervisedJob::side_command: asks hosts that were left out, and requests a resize
  /// when they answer.
  [[nodiscard]] std::vector<std::string> side_command(const std::optional<std::string>& said);

 private:
  /// Sets the number of workers, on the hosts that the hostfile names now.
  void resize(int workers);
  /// Implements AllocationCallbacks::replicate_networks.
  [[nodiscard]] bool replicate_networks();
  [[nodiscard]] const HostAllocation& allocation() const { return host_allocator_.now(); }
  void use(SupervisedJob& job, const std::string& resume, bool goes_on);
  /// @throws ConfigError if its layout names a host without a worker
  [[nodiscard]] JobSpec job_on(const HostAllocation& allocation) const;
  /// True if the job's layout is valid for the allocation.
  [[nodiscard]] bool is_possible(const HostAllocation& allocation) const;
  /// Prints a note if the user has edited the job since.
  void tell_of_edits() const;
  [[nodiscard]] StartRequest request_of_start(const std::string& resume, bool goes_on) const;

  RunOptions asked_;
  Environment environment_;
  std::vector<std::string> typed_;
  ResolvedJob as_read_;
  JobSpec spec_;  ///< on the hosts of the first start
  std::filesystem::path run_;
  HostAllocator host_allocator_;
  std::vector<int> shares_;     ///< micro-batches of each worker, balanced; empty: as the job says
  bool is_replicated_ = false;  ///< every worker has all networks, against the job's layout
  MpirunRequest request_;
  HostReturns returns_;
  std::vector<Host> asked_hosts_;  ///< asked by the running side_command
  int workers_with_returned_ = 0;  ///< workers of the requested resize; 0: none was requested
  std::chrono::duration<double> usual_check_{0};  ///< check of all hosts at the first start
  bool is_restart_ = false;                       ///< this command has made a start before
};

}  // namespace gangway::launch
