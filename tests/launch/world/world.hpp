// SPDX-License-Identifier: MIT
// A run in virtual time: hosts, a disk, a user, and one `gangway run` after another. Their starts
// lose processes and hosts at moments that a seed chooses. Production code makes the decisions
// (Supervision with JobWatch, Recovery with RestartPolicy, HostAllocator with HostRegistry,
// ResumeChoice, RunCore). Virtual processes execute them, and train virtual steps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/resume/start.hpp"
#include "launch/going_on/host_allocator.hpp"
#include "launch/run/recovery.hpp"
#include "report/tick.hpp"
#include "run/snapshot_id.hpp"
#include "tests/launch/world/timeline.hpp"

namespace gangway::launch {

/// A job of 4 micro-batches: its steps, and the steps between ticks, checkpoints and snapshots.
inline constexpr std::int64_t kTotalSteps = 360;
inline constexpr std::int64_t kTickSteps = 10;
inline constexpr std::int64_t kCheckpointSteps = 30;
inline constexpr std::int64_t kSnapshotSteps = 5;
inline constexpr int kMicrobatches = 4;

/// The host of the command and its mpirun.
inline const std::string kOwnHost = "host1";

/// The blows that a seed may choose for a start.
enum class Blow {
  kNone,
  kWorkerKilled,
  kWorkerCrashes,
  kWorkerStopped,
  kWorkerHangs,
  kWorkerPauses,  ///< is stopped, and continued before any deadline
  kCoordinatorKilled,
  kCoordinatorStopped,
  kCoordinatorPauses,
  kMpirunKilled,
  kMpirunStopped,
  kHostWithoutPower,
  kHostCutOff,
  kSupervisorKilled,
  kTerminated,   ///< SIGTERM to the supervisor
  kInterrupted,  ///< Ctrl-C, perhaps again a moment later
  kSavesAndGoesOn,
  kResized,
  kDrained,
};
inline constexpr std::size_t kNumBlows = static_cast<std::size_t>(Blow::kDrained) + 1;

/// A host, and the snapshots in its memory.
struct VirtualHost {
  bool is_up = true;
  std::set<std::pair<SnapshotId, int>> parts;  ///< a worker's index is the int
};

/// The run directory.
struct VirtualDisk {
  std::set<std::int64_t> checkpoints;
  std::optional<RunEnd> status;
  RunStart start;
  std::vector<report::Tick> ticks;
  Restarts restarts;
};

class VirtualStart;

class World {
 public:
  /// @param runs  begun runs, by layout: one group, networks apart, stages
  World(std::uint64_t seed, const std::array<coordinator::StartedRun*, 3>& runs);
  ~World();

  /// Runs until the last step is trained, or an error is found.
  void run();

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  /// Returns the number of starts that a loss ended.
  [[nodiscard]] int losses() const { return losses_; }
  /// Returns the number of blows that struck, by kind.
  [[nodiscard]] const std::array<int, kNumBlows>& blows() const { return blows_; }
  /// Returns the events of the run, a line each.
  [[nodiscard]] const std::string& story() const { return story_; }

 private:
  friend class VirtualStart;

  void problem(const std::string& what);
  void tell(const std::string& line);
  void begin_command();
  void begin_start();
  /// `gangway run` is alive, and mpirun has ended.
  void after_start(const RunEnd& end);
  void after_loss(const RunEnd& end);
  void after_command(int exit_code);
  void after_killed_command();
  void check_end(const RunEnd& end);
  [[nodiscard]] bool is_possible(const HostAllocation& allocation);
  void lose_host(const std::string& name, bool loses_memory);
  [[nodiscard]] Blow draw_blow();

  Timeline time_;
  Chance chance_;
  std::array<coordinator::StartedRun*, 3> runs_;
  coordinator::StartedRun* run_ = nullptr;  ///< of the current layout
  std::vector<Host> hostfile_;              ///< empty: one host
  int workers_ = 1;                         ///< number that the user wants
  int num_blows_;                           ///< blows that are left
  std::map<std::string, VirtualHost> hosts_;
  VirtualDisk disk_;
  std::optional<Recovery> recovery_;  ///< of this command
  std::optional<HostAllocator> host_allocator_;
  std::shared_ptr<VirtualStart> start_;
  std::map<std::pair<const coordinator::StartedRun*, int>, bool> possible_;
  int starts_allowed_ = 1;  ///< of this command, so far
  int starts_ = 0;
  int in_vain_ = 0;  ///< this command's losses in a row
  std::optional<std::int64_t> furthest_;
  std::optional<std::int64_t> saved_at_;  ///< by an orderly end; the next start's step
  std::optional<std::int64_t> trained_;   ///< by all, at the last start's end
  bool is_done_ = false;
  int losses_ = 0;
  std::array<int, kNumBlows> blows_{};
  std::vector<std::string> problems_;
  std::string story_;
};

}  // namespace gangway::launch
