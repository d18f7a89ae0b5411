// SPDX-License-Identifier: MIT
// Checks one network while it trains (layout.check_steps, layout.audit): that all replicas of its
// weights are equal, and that another worker computes the same update bits. Checks run in the
// background: a failed check fails the lane, and so the next wait for it. Compute thread.
#pragma once

#include "comm/reduce/replica_check.hpp"
#include "worker/step/network_exchange.hpp"
#include "worker/step/update_audit.hpp"

namespace gangway::worker {

class NetworkChecks {
 public:
  /// Attaches the checks that the job wants to the lane and to the updates of `exchange`. Keeps
  /// references to the contents of `setup`.
  NetworkChecks(NetworkState& state, NetworkId network, std::uint64_t seed, const Execution& how,
                const ExchangeSetup& setup, NetworkExchange& exchange);
  /// @pre no exchange shows updates to it any more
  ~NetworkChecks();
  NetworkChecks(const NetworkChecks&) = delete;
  NetworkChecks& operator=(const NetworkChecks&) = delete;

  /// Returns whether `step` (steps done) is due for a check.
  [[nodiscard]] bool are_due(std::int64_t step) const;
  /// Begins to compare the present weights, and to audit the update that is opened next, by `plan`.
  /// Every worker calls it with equal arguments. @pre no exchange of the network is under way
  void begin(std::int64_t step, const UpdatePlan& plan);
  /// Compares the present weights and waits for all checks. @pre as above
  /// @throws InvariantError if something differs
  void finish(std::int64_t step);

 private:
  void wait();
  [[nodiscard]] bool is_needed() const { return compares_ || audits_; }

  NetworkState& state_;
  comm::Lane& lane_;
  int every_;  // steps; 0: never
  bool compares_;
  bool audits_;
  comm::ReplicaCheck replicas_;
  UpdateAudit audit_;
};

}  // namespace gangway::worker
