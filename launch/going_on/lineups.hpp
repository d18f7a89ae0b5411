// SPDX-License-Identifier: MIT
// Chooses hosts and workers of each start of one `gangway run`, and remembers which host had which
// worker. Pure: it asks about the job and the hosts by functions. Called by Starts, main thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/going_on/host_roster.hpp"
#include "launch/mpirun/hostfile.hpp"

namespace gangway::launch {

struct LineupQuestions {
  std::function<bool(const std::string&)> is_this_host;
  /// Whether the job's layout goes with it.
  std::function<bool(const Lineup&)> is_possible;
  /// Lets every worker have all networks from here on. @return false: nothing changes by that
  std::function<bool()> give_up_places;
  /// Those that do not answer. It may take seconds.
  std::function<std::vector<std::string>(const std::vector<Host>&)> find_silent;
};

class Lineups {
 public:
  using TimePoint = HostRoster::TimePoint;

  /// How long a start waits for silent hosts that alone hold a part of the newest snapshot.
  static constexpr std::chrono::seconds kPatience{60};
  /// Waits some seconds for the named hosts. @return the time afterwards; nullopt: stop waiting
  using Wait = std::function<std::optional<TimePoint>(const std::vector<std::string>&)>;

  /// @param hosts  none: this one alone. @param least  layout.min_workers
  Lineups(const std::vector<Host>& hosts, int workers, int least, LineupQuestions questions);

  [[nodiscard]] const Lineup& now() const { return now_; }
  /// Left out or not.
  [[nodiscard]] const std::vector<Host>& all_hosts() const { return roster_.hosts(); }
  /// The host of a rank, as the hostfile calls it; empty: this one, or unknown.
  [[nodiscard]] std::string host_of(int rank) const;

  /// @param rank  of the worker that was lost; 0: another process, or unknown
  /// @return false where what is left cannot train the job
  [[nodiscard]] bool after_loss(int rank, TimePoint now, const Wait& wait);
  /// Workers of these ranks have no successor.
  void drain(const std::vector<int>& ranks, int workers);
  /// Wants so many; where they cannot be had, all stays as it was.
  /// @param hosts  those of the hostfile by now; nothing: they stay
  void resize(int workers, std::optional<std::vector<Host>> hosts, TimePoint now);

  /// The hosts without workers that may be asked again (HostRoster::to_ask).
  [[nodiscard]] std::vector<Host> to_ask(TimePoint now) const { return roster_.to_ask(now_, now); }
  /// @param asked   hosts of to_ask
  /// @param answer  those of them that answered
  /// @return workers that a start would have now
  [[nodiscard]] int heard(const std::vector<Host>& asked, const std::vector<std::string>& answer,
                          TimePoint now);
  /// Takes hosts that are back; where that fails, all stays as it was.
  void take_back(TimePoint now);

 private:
  [[nodiscard]] bool choose(TimePoint now, const Wait& wait);
  /// Whether `hosts` hold both copies of some worker's snapshot: its own, and its buddy's on the
  /// next host (worker/buddies/buddies.hpp).
  [[nodiscard]] bool have_a_part_alone(const std::vector<std::string>& hosts,
                                       const Lineup& start) const;
  [[nodiscard]] bool choose_without_asking(TimePoint now);

  HostRoster roster_;
  Lineup now_;
  int least_;
  LineupQuestions questions_;
};

}  // namespace gangway::launch
