// SPDX-License-Identifier: MIT
// One start of the virtual run (world.hpp): mpirun, the coordinator, the workers, and the
// supervisor's view of them.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coordinator/core/run_core.hpp"
#include "coordinator/resume/resume_choice.hpp"
#include "launch/run/supervision.hpp"
#include "tests/launch/world/world.hpp"

namespace gangway::launch {

inline constexpr std::chrono::milliseconds kTimeout{3'000};  ///< layout.timeout_seconds of the jobs
inline constexpr std::chrono::milliseconds kOrphansLeave{3'500};
inline constexpr double kUnixSeconds = 1.0;

class VirtualStart : public std::enable_shared_from_this<VirtualStart> {
 public:
  VirtualStart(World& world, const HostAllocation& allocation, bool goes_on, bool is_again);

  void begin();
  /// Cuts off the host: no message leaves or reaches it.
  void lose_host(const std::string& name, bool loses_power);
  [[nodiscard]] bool is_over() const { return is_over_; }

  /// The blow's targets, for the expected end.
  struct Victim {
    std::set<int> ranks;  ///< 0: the coordinator
    bool is_mpirun = false;
  };
  [[nodiscard]] const std::vector<Victim>& victims() const { return victims_; }
  /// The user's requests to end.
  [[nodiscard]] bool was_to_leave() const { return was_to_leave_; }
  [[nodiscard]] bool was_forced() const { return was_forced_; }
  /// The end that the coordinator recorded.
  [[nodiscard]] const std::optional<RunEnd>& run_end() const { return end_; }
  [[nodiscard]] std::optional<std::int64_t> trained() const;
  [[nodiscard]] int num_workers() const { return num_workers_; }

 private:
  enum class Health { kWell, kStopped, kHangs, kGone };
  struct Process {
    std::string host;
    Health health = Health::kWell;
    bool has_come = false;  ///< its tether is connected
    bool has_settled = false;
    bool is_cut_off = false;
    std::vector<std::function<void()>> pending;  ///< deeds during a stop
    TimePoint last_word{};                       ///< arrival of its last message at the coordinator
    TimePoint last_order{};                      ///< arrival of the coordinator's last message
    // Members of a worker.
    bool is_ready = false;
    bool has_complained = false;
    std::int64_t granted = 0;
    std::int64_t done = 0;
    std::vector<messages::Lease> leases;
    std::set<std::int64_t> snapshots;  ///< kept snapshots
    std::optional<std::int64_t> protected_snapshot;
    std::optional<std::int64_t> copied;
    std::optional<std::int64_t> tried;
    int files_to_write = 0;
    bool is_last = false;  ///< it must say Goodbye
  };

  void after(Timeline::Duration delay, std::function<void()> event);
  /// As after(), but a gone process does nothing, and a stopped one does it later.
  void act(int rank, Timeline::Duration delay, std::function<void()> deed);
  [[nodiscard]] Process& at(int rank) { return processes_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool is_here(const Process& process) const;
  /// Returns workers without progress, or without a connection.
  [[nodiscard]] std::vector<int> unwell() const;
  /// Returns a worker on another host; 0: there is none.
  [[nodiscard]] int buddy_of(int rank) const;
  [[nodiscard]] SnapshotId id_of(std::int64_t step) const {
    return {.step = step, .incarnation = incarnation_, .epoch = 1, .num_workers = num_workers_};
  }
  /// Returns whether each worker's part is on some host.
  [[nodiscard]] bool is_whole(std::int64_t step) const;
  /// Returns the newest state that the workers' hosts and the disk have.
  [[nodiscard]] std::int64_t newest_told() const;
  [[nodiscard]] bool is_well(const Process& process) const {
    return process.health == Health::kWell && !process.is_cut_off;
  }

  // Actions of processes.
  void come(int rank);
  void beat_tether(int rank);
  void meet();
  void lead();
  void tick();
  void begin_worker(int rank);
  void beat_lifeline(int rank);
  void tell(int rank, messages::Message message);
  void get(int rank, const messages::Message& message);
  void inventory(int rank);
  void load(int rank, const messages::Begin& begin);
  void take(int rank, const messages::Lease& lease);
  void follow_leases(int rank);
  void try_step();
  void end_step();
  void report_step(int rank, std::int64_t step);
  void keep_snapshot(int rank, std::int64_t step, bool is_copied);
  void copy_snapshot(int rank, int buddy, std::int64_t step);
  void save(int rank, std::int64_t step);
  void say_goodbye(int rank);
  void wait_in_vain();
  void complain(int rank, int accused);
  /// The process ends by itself.
  void leave(int rank);
  void gone(int rank, std::optional<int> signal);
  void end_mpirun_if_deserted();

  // Actions of the coordinator's event loop.
  void carry_out(const coordinator::Effects& effects);
  void carry_out(const coordinator::SendMessage& send);
  void carry_out(const coordinator::ChooseResumePoint& question);
  void carry_out(const coordinator::GrantLease& grant);
  void carry_out(const coordinator::CommitCheckpoint& commit);
  void carry_out(const coordinator::ShowPlacement& placement);
  void carry_out(const coordinator::ShowTick& tick);
  void carry_out(const coordinator::EndJob& end);
  void carry_out(const coordinator::RecordDecisions& record);
  void carry_out(const auto& /*shown*/) {}
  void check_status();
  void request(coordinator::Request request, int signal);

  // Actions of the supervisor.
  void look(bool is_due);
  void look_for_end();
  void look_around();
  void end_job();
  void kill_here(std::optional<Health> health);
  void end_mpirun(int status);
  void signal(int number);

  // Actions of the seed.
  void plan_blow();
  /// A moment for which a blow may have waited.
  enum class Moment { kStart, kTraining, kSave, kLast };
  void reach(Moment moment);
  void strike(Blow blow);
  void strike_worker(Blow blow);
  void stop(int rank);
  void pause(int rank);
  void strike_command(Blow blow);
  void expect_end(Timeline::Duration limit);

  World& world_;
  HostAllocation lineup_;
  bool is_restart_;
  int num_workers_;
  std::vector<Process> processes_;
  bool is_led_ = false;
  bool is_mpirun_stopped_ = false;
  bool is_mpirun_over_ = false;
  bool has_supervisor_ = true;
  bool is_ending_ = false;
  bool is_over_ = false;
  Supervision supervision_;
  TimePoint next_look_{};
  TimePoint next_status_{};
  coordinator::StartOptions options_;
  std::optional<coordinator::ResumeChoice> choice_;
  std::optional<coordinator::RunCore> core_;
  std::optional<RunEnd> end_;
  Layout layout_;
  std::int64_t incarnation_ = 0;
  std::set<std::tuple<SnapshotId, int, std::string>> told_;  ///< reported parts with their hosts
  std::int64_t shown_step_ = 0;
  bool is_stepping_ = false;
  bool waits_in_vain_ = false;
  Timeline::Duration step_time_;
  Blow blow_ = Blow::kNone;
  Moment blow_moment_ = Moment::kStart;
  std::vector<Victim> victims_;
  bool has_stalled_ = false;  ///< the coordinator: workers are further than it knows
  bool was_to_leave_ = false;
  bool was_forced_ = false;
};

}  // namespace gangway::launch
