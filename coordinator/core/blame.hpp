// SPDX-License-Identifier: MIT
// Finds the worker to blame when workers time out on each other. A hung worker reports nothing, and
// workers that wait for a blocked worker accuse the wrong rank. Pure; owned by RunCore, which
// calls verdict() on every clock tick.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "coordinator/core/membership.hpp"

namespace gangway::coordinator {

/// A worker's report that a peer or the network failed it. The worker has left the run.
struct Complaint {
  Rank rank{};     ///< the worker that complains
  Rank accused{};  ///< the worker that it waited for; 0: none in particular
  std::string reason;
};

class Blame {
 public:
  void add(const Complaint& complaint, TimePoint now);
  [[nodiscard]] bool is_empty() const { return complaints_.empty(); }
  /// Excludes `gap`, in which the coordinator itself did not run, from the time since a complaint.
  void forgive(std::chrono::steady_clock::duration gap, TimePoint now);

  /// Returns the worker to blame; nullopt while a heartbeat or a complaint may still change that.
  ///
  /// Follows the accusations from the first complaint to a worker that has not complained itself.
  /// If that worker's heartbeats say that it waits too, blames the only worker that does not, if
  /// any.
  [[nodiscard]] std::optional<Fault> verdict(const Membership& membership, TimePoint now) const;

 private:
  /// Returns the first complaint of `rank`; null: it has not complained.
  [[nodiscard]] const Complaint* of(Rank rank) const;
  /// Returns the only worker that neither complained nor waits; 0: there is none, or several.
  [[nodiscard]] Rank only_idle(const Membership& membership, TimePoint now) const;
  [[nodiscard]] Rank end_of_chain() const;

  std::vector<Complaint> complaints_;   // in order of arrival
  std::map<Rank, std::size_t> places_;  // by rank: index of its first complaint
  TimePoint since_{};
};

}  // namespace gangway::coordinator
