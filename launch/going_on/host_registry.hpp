// SPDX-License-Identifier: MIT
// Chooses the hosts for the next start of a job after losses. Leaves a host out for a while if it
// does not answer or has lost processes twice. Spare slots of the hostfile replace it, or else
// fewer workers share its micro-batches. Pure; called by `gangway run`.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/mpirun/hostfile.hpp"

namespace gangway::launch {

/// Hosts and workers of a start.
struct HostAllocation {
  std::vector<Host> hosts;
  int workers = 0;                    ///< 0: the remaining hosts cannot train the job
  std::vector<std::string> left_out;  ///< names of the hosts left out
};

class HostRegistry {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// Leaves a host out after kMostLosses losses, each within kLossesCount of the one before.
  static constexpr int kMostLosses = 2;
  static constexpr std::chrono::hours kLossesCount{1};
  /// Time for which a silent host and a host with losses are left out.
  static constexpr std::chrono::seconds kWithoutAnswer{60};
  static constexpr std::chrono::minutes kAfterLosses{10};

  /// @param hosts  empty: this host alone, never left out. @param workers  wanted number
  HostRegistry(std::vector<Host> hosts, int workers)
      : hosts_(std::move(hosts)), workers_(workers) {}

  [[nodiscard]] const std::vector<Host>& hosts() const { return hosts_; }
  /// Removes the slots that workers of these ranks have in `now`; lowers the wanted number.
  void drain(const HostAllocation& now, const std::set<Rank>& ranks,
             const std::function<bool(const std::string&)>& is_this_host);
  void want(int workers) { workers_ = workers; }
  /// Replaces the hosts; keeps the records of known hosts.
  void use(std::vector<Host> hosts) { hosts_ = std::move(hosts); }
  void lost(const std::string& host, TimePoint now);
  void silent(const std::string& host, TimePoint now);
  /// Ends the exclusion of a host that answers again.
  void back(const std::string& host) { records_.erase(host); }
  /// Returns the hosts without workers that may be asked again; empty if as many workers train as
  /// are wanted. A host that lost processes is not asked before its exclusion ends.
  [[nodiscard]] std::vector<Host> to_ask(const HostAllocation& now, TimePoint time) const;

  /// Chooses the wanted number of workers, or the most for which `is_possible` holds. Uses hosts
  /// with losses only if the other hosts do not suffice.
  /// @param least  layout.min_workers; capped at the wanted number
  [[nodiscard]] HostAllocation allocation(
      TimePoint now, int least,
      const std::function<bool(const HostAllocation&)>& is_possible) const;

 private:
  struct Record {
    int losses = 0;
    TimePoint last{};  ///< time of the last loss
    TimePoint out_until{};
    bool is_silent = false;
  };
  [[nodiscard]] HostAllocation without(const std::function<bool(const Record&)>& is_out) const;

  std::vector<Host> hosts_;
  int workers_;
  std::map<std::string, Record> records_;  ///< by host
};

}  // namespace gangway::launch
