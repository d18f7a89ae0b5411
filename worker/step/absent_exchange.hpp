// SPDX-License-Identifier: MIT
// Stands in for the exchange of a network that this worker does not hold. Compute thread.
#pragma once

#include "base/errors.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

class AbsentExchange final : public NetworkExchange {
 public:
  [[nodiscard]] RecordedExchange* recorded() override { return nullptr; }
  void show_updates_to(UpdateWatcher& /*watcher*/) override {}
  void open_leaf() override { fail(); }
  void close_leaf(int /*microbatch*/) override { fail(); }
  void open(int /*phase*/, const UpdatePlan& /*plan*/) override { fail(); }
  [[nodiscard]] bool is_open() const override { return false; }
  void arm() override { fail(); }
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
