// SPDX-License-Identifier: MIT
// Who is to be named when workers complain of one another. A worker that hangs says nothing.
// Workers blocked behind it time out and name it; workers blocked behind those time out too, and
// name the wrong one. Pure; owned by the Conductor, which asks on every tick of its clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "coordinator/mind/membership.hpp"

namespace gangway::coordinator {

/// A worker's word that a peer, or the network, failed it. It has left.
struct Complaint {
  int rank = 0;     ///< who complains
  int accused = 0;  ///< whom it has waited for; 0: nobody in particular
  std::string reason;
};

class Blame {
 public:
  void add(const Complaint& complaint, TimePoint now);
  [[nodiscard]] bool is_empty() const { return complaints_.empty(); }
  /// The coordinator itself stood still: no time has passed.
  void forgive(std::chrono::steady_clock::duration gap, TimePoint now);

  /// Nothing while others may still have something to say that matters.
  ///
  /// The first complaint is followed from accused to accused, up to one that has not complained
  /// itself. If that one's heartbeats say that it waits as well, the culprit is the only worker
  /// that waits for nobody, where there is one.
  [[nodiscard]] std::optional<Fault> verdict(const Membership& membership, TimePoint now) const;

 private:
  /// The first of `rank`'s; null: it has not complained.
  [[nodiscard]] const Complaint* of(int rank) const;
  /// The only one of those who have not complained that waits for nobody; 0: there are none, or
  /// several.
  [[nodiscard]] int only_idle(const Membership& membership, TimePoint now) const;
  [[nodiscard]] int end_of_chain() const;

  std::vector<Complaint> complaints_;            // in the order in which they came
  std::unordered_map<int, std::size_t> places_;  // in complaints_, of each rank's first
  TimePoint since_{};
};

}  // namespace gangway::coordinator
