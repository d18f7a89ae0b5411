// SPDX-License-Identifier: MIT
// Which hosts the next start of a job goes on with, after losses. A host that does not answer, or
// has lost processes twice, is left out for a while; slots of the hostfile that were spare take its
// place, else fewer workers carry its micro-batches. Pure; driven by `gangway run`.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch/mpirun/hostfile.hpp"

namespace gangway::launch {

/// What a start is made of.
struct Lineup {
  std::vector<Host> hosts;
  int workers = 0;                    ///< 0: the job cannot be started with what is left
  std::vector<std::string> left_out;  ///< hosts, at this time
};

class HostRoster {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  /// Losses for which a host is left out, none of them older than that.
  static constexpr int kMostLosses = 2;
  static constexpr std::chrono::hours kLossesCount{1};
  /// For how long: one that does not answer, and one that loses processes.
  static constexpr std::chrono::seconds kWithoutAnswer{60};
  static constexpr std::chrono::minutes kAfterLosses{10};

  /// @param hosts  none: this one alone, which is never left out. @param workers  that are wanted
  HostRoster(std::vector<Host> hosts, int workers) : hosts_(std::move(hosts)), workers_(workers) {}

  [[nodiscard]] const std::vector<Host>& hosts() const { return hosts_; }
  /// Workers of these ranks, of a start with `now`, are to have no successor.
  void drain(const Lineup& now, const std::vector<int>& ranks,
             const std::function<bool(const std::string&)>& is_this_host);
  void want(int workers) { workers_ = workers; }
  /// These from here on, with what is remembered of them.
  void use(std::vector<Host> hosts) { hosts_ = std::move(hosts); }
  void lost(const std::string& host, TimePoint now);
  void silent(const std::string& host, TimePoint now);
  /// Takes a host back that answers again.
  void back(const std::string& host) { records_.erase(host); }
  /// The hosts without workers that may be asked again; empty while as many workers train as are
  /// wanted. A host that lost processes is not asked before its time out is over.
  [[nodiscard]] std::vector<Host> to_ask(const Lineup& now, TimePoint time) const;

  /// With as many workers as are wanted, or the most for which `is_possible`. Hosts that lose
  /// processes are used where there are not enough without them.
  /// @param least  layout.min_workers, where so many are wanted
  [[nodiscard]] Lineup lineup(TimePoint now, int least,
                              const std::function<bool(const Lineup&)>& is_possible) const;

 private:
  struct Record {
    int losses = 0;
    TimePoint last{};  ///< of them
    TimePoint out_until{};
    bool is_silent = false;
  };
  [[nodiscard]] Lineup without(const std::function<bool(const Record&)>& is_out) const;

  std::vector<Host> hosts_;
  int workers_;
  std::map<std::string, Record> records_;  ///< by host
};

}  // namespace gangway::launch
