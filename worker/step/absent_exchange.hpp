// SPDX-License-Identifier: MIT
// Stands in for the exchange of a network that this worker does not hold. Compute thread.
#pragma once

#include "base/errors.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

class AbsentExchange final : public NetworkExchange {
 public:
  void show_updates_to(UpdateWatcher& /*watcher*/) override {}
  void open_leaf() override { fail(); }
  void close_leaf(int /*microbatch*/) override { fail(); }
  void restart_leaves() override {}
  [[nodiscard]] at::Tensor gradient_sums() override { fail(); }
  void open(int /*phase*/, const UpdatePlan& /*plan*/) override { fail(); }
  [[nodiscard]] bool is_open() const override { return false; }
  void arm() override { fail(); }
  void rehearse() override { fail(); }
  [[nodiscard]] std::vector<std::size_t> rehearsed() override { fail(); }
  [[nodiscard]] bool completes(const std::vector<std::size_t>& /*buckets*/,
                               const std::function<void()>& /*replay*/) override {
    fail();
  }
  void send_replayed(const std::vector<std::size_t>& /*buckets*/) override { fail(); }
  void complete_block(std::size_t /*block*/) override { fail(); }
  void reduce() override { fail(); }
  void await() override {}
  [[nodiscard]] bool was_skipped() const override { return false; }
  [[nodiscard]] std::optional<double> agreed_norm() const override { return std::nullopt; }
  [[nodiscard]] std::vector<Exposure> take_exposures() override { return {}; }
  [[nodiscard]] std::size_t take_unfired() override { return 0; }

 private:
  [[noreturn]] static void fail() {
    throw InvariantError(
        "a network is trained on a worker that does not hold it; please report this");
  }
};

}  // namespace gangway::worker
