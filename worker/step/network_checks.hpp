// SPDX-License-Identifier: MIT
// What is checked of one network while it trains (layout.check_steps, layout.audit): that all
// replicas of its weights are equal, and that others would have updated it to the same bits.
// Neither is waited for: what is found wrong fails the lane, and with it the next wait for it.
// Compute thread.
#pragma once

#include "comm/reduce/replica_check.hpp"
#include "worker/step/network_exchange.hpp"
#include "worker/step/update_audit.hpp"

namespace gangway::worker {

class NetworkChecks {
 public:
  /// Has the lane drive the checks, and `exchange` show its updates, where the job wants that.
  /// Keeps references to what `setup` refers to.
  NetworkChecks(NetworkState& state, NetworkId network, std::uint64_t seed, const Execution& how,
                const ExchangeSetup& setup, NetworkExchange& exchange);
  /// @pre nothing shows updates to it any more
  ~NetworkChecks();
  NetworkChecks(const NetworkChecks&) = delete;
  NetworkChecks& operator=(const NetworkChecks&) = delete;

  /// Whether `step` (steps done) is one in which something is checked.
  [[nodiscard]] bool are_due(std::int64_t step) const;
  /// Begins to compare the weights as they are, and to audit the update that is opened next, by
  /// `plan`. Every worker calls it with equal arguments. @pre no exchange of the network is under
  /// way
  void begin(std::int64_t step, const UpdatePlan& plan);
  /// Compares the weights as they are, and waits until no check is under way. @pre as above
  /// @throws InvariantError where something differs
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
