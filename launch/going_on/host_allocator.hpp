// SPDX-License-Identifier: MIT
// Chooses hosts and workers for each start of one `gangway run`, and remembers each worker's host.
// Pure: gets facts about job and hosts through functions. Called by Starts, main thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/going_on/host_registry.hpp"
#include "launch/mpirun/hostfile.hpp"

namespace gangway::launch {

struct AllocationCallbacks {
  std::function<bool(const std::string&)> is_this_host;
  /// True if the job's layout is valid for the allocation.
  std::function<bool(const HostAllocation&)> is_possible;
  /// Gives every worker all networks from now on. @return false if that changes nothing
  std::function<bool()> replicate_networks;
  /// Returns the hosts that do not answer; may take seconds.
  std::function<std::vector<std::string>(const std::vector<Host>&)> find_silent;
};

class HostAllocator {
 public:
  using TimePoint = HostRegistry::TimePoint;

  /// Longest wait of a start for silent hosts that hold the only copy of a snapshot part.
  static constexpr std::chrono::seconds kPatience{60};
  /// Waits some seconds for the named hosts. @return the time afterwards; nullopt: stop waiting
  using Wait = std::function<std::optional<TimePoint>(const std::vector<std::string>&)>;

  /// @param hosts  empty: this host alone. @param least  layout.min_workers
  HostAllocator(const std::vector<Host>& hosts, int workers, int least,
                AllocationCallbacks questions);

  [[nodiscard]] const HostAllocation& now() const { return now_; }
  /// Includes the hosts left out.
  [[nodiscard]] const std::vector<Host>& all_hosts() const { return registry_.hosts(); }
  /// Returns the host name of a rank as in the hostfile; empty: this host, or unknown.
  [[nodiscard]] std::string host_of(Rank rank) const;

  /// @param rank  of the lost worker; 0: another process, or unknown
  /// @return false if the remaining hosts cannot train the job
  [[nodiscard]] bool after_loss(Rank rank, TimePoint now, const Wait& wait);
  /// Removes the workers of these ranks without replacement.
  void drain(const std::set<Rank>& ranks, int workers);
  /// Sets the wanted number of workers; keeps the old allocation if that fails.
  /// @param hosts  of the hostfile as it is now; nullopt: unchanged
  void resize(int workers, std::optional<std::vector<Host>> hosts, TimePoint now);

  /// Returns the hosts without workers that may be asked again (HostRegistry::to_ask).
  [[nodiscard]] std::vector<Host> to_ask(TimePoint now) const {
    return registry_.to_ask(now_, now);
  }
  /// @param asked   hosts of to_ask
  /// @param answer  the asked hosts that answered
  /// @return number of workers that a start would have now
  [[nodiscard]] int heard(const std::vector<Host>& asked, const std::vector<std::string>& answer,
                          TimePoint now);
  /// Includes hosts that are back; keeps the old allocation if that fails.
  void take_back(TimePoint now);

 private:
  [[nodiscard]] bool choose(TimePoint now, const Wait& wait);
  /// True if `hosts` hold both copies of some worker's snapshot: its own, and its buddy's on the
  /// next host (worker/buddies/buddies.hpp).
  [[nodiscard]] bool have_a_part_alone(const std::vector<std::string>& hosts,
                                       const HostAllocation& start) const;
  [[nodiscard]] bool choose_without_asking(TimePoint now);

  HostRegistry registry_;
  HostAllocation now_;
  int least_;
  AllocationCallbacks callbacks_;
};

}  // namespace gangway::launch
