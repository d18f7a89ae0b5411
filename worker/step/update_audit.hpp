// SPDX-License-Identifier: MIT
// Audits one network's updates: at some steps another worker recomputes a random slice and compares
// every bit with its owner's result. The owner's lane copies the slice before and after its update
// and sends both; the auditor's lane recomputes on the host, even for an update on a device. Seed,
// network and step determine slice and auditor, so the workers need no agreement.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "comm/lane.hpp"
#include "comm/transport/deadline.hpp"
#include "comm/transport/pending.hpp"
#include "comm/transport/transport.hpp"
#include "worker/step/network_updater.hpp"

namespace gangway::worker {

struct UpdateAuditSetup {
  int network = 0;  ///< part of message tags
  std::uint64_t seed = 0;
  std::chrono::milliseconds timeout{60'000};
  /// Computes an update on the host.
  std::function<void(const UpdatePlan&, const comm::ArenaLayout&, const UpdateSlice&)> update =
      update_slice;
};

class UpdateAudit final : public comm::Exchange, public UpdateWatcher {
 public:
  /// The audit of one step.
  struct Choice {
    comm::ElementRange range;  ///< whole blocks of one slice
    int owner = 0;
    int auditor = 0;
  };
  UpdateAudit(comm::Transport& transport, NetworkState& state, const UpdateAuditSetup& setup);

  /// Returns whether another worker exists to audit.
  [[nodiscard]] bool is_needed() const { return transport_.num_workers() > 1; }
  [[nodiscard]] Choice choose(std::int64_t step) const;
  /// Audits the update that is opened next, by `plan`. Compute thread; every worker calls it with
  /// equal arguments. @pre the previous audit and the exchange are over
  void begin(std::int64_t step, const UpdatePlan& plan);

  void before_update(const UpdateSlice& slice) override;
  void after_update(const UpdateSlice& slice, const UpdatePlan& plan) override;
  [[nodiscard]] UpdateWish wish() const override;

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }
  /// @throws InvariantError naming step, tensor, owner and auditor if a bit differs; CommError
  /// naming a silent worker.
  bool advance() override;

 private:
  /// Returns the names of the arrays that an update changes, in the order of a record.
  [[nodiscard]] static std::vector<std::string> changed_of(NetworkState& state);
  /// Returns array `i` of them in a slice.
  [[nodiscard]] std::span<const float> changed(const UpdateSlice& slice, std::size_t i) const;

  /// Returns the number of parts of a record: the mean, then the changed arrays before and after.
  [[nodiscard]] std::size_t num_parts() const { return 1 + 2 * changed_.size(); }
  [[nodiscard]] std::span<float> mean_part() { return part(0); }
  [[nodiscard]] std::span<float> before(std::size_t i) { return part(1 + i); }
  [[nodiscard]] std::span<float> after(std::size_t i) { return part(1 + changed_.size() + i); }
  [[nodiscard]] std::span<float> part(std::size_t index);
  void start();
  void judge();
  [[nodiscard]] std::string place_of(std::size_t element) const;

  comm::Transport& transport_;
  NetworkState& state_;
  std::vector<std::string> changed_;
  UpdateAuditSetup setup_;
  std::atomic<Need> need_ = Need::kNothing;
  std::int64_t step_ = 0;
  UpdatePlan plan_;
  Choice choice_;
  std::vector<float> record_;  // the parts, one after the other
  std::size_t recorded_ = 0;   // elements after their update; lane thread, as is all below
  bool started_ = false;
  std::vector<comm::PendingRequest> pending_;
  comm::Deadline deadline_{std::chrono::milliseconds(0)};
};

}  // namespace gangway::worker
