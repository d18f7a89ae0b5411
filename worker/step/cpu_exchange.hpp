// SPDX-License-Identifier: MIT
// Runs a network's exchange in host memory: partials, watch, reducer, updater. The lane runs reduce
// and update while the compute thread continues. Compute thread.
#pragma once

#include <utility>
#include <vector>

#include "comm/reduce/partial_stack.hpp"
#include "comm/reduce/reducer.hpp"
#include "worker/step/gradient_watch.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

struct CpuExchangeSetup {
  NetworkState& state;
  NetworkId network{};
  const ExchangeSetup& exchange;
  WireFormat wire = WireFormat::kFp32;  ///< number format of what travels between hosts
};

class CpuExchange final : public NetworkExchange, public RecordedExchange {
 public:
  /// @param partials  of this worker, in the memory of its host
  CpuExchange(const CpuExchangeSetup& setup, comm::PartialStack partials);
  ~CpuExchange() override;
  CpuExchange(const CpuExchange&) = delete;
  CpuExchange& operator=(const CpuExchange&) = delete;

  [[nodiscard]] RecordedExchange* recorded() override { return this; }
  void show_updates_to(UpdateWatcher& watcher) override { updater_.show_to(watcher); }
  void open_leaf() override { state_.bind_gradients(partials_.open_leaf()); }
  void close_leaf(int microbatch) override { partials_.push(microbatch); }
  void restart_leaves() override {
    partials_.restart();
    (void)watch_.rehearsed();  // leftovers of a failed recording
  }
  [[nodiscard]] at::Tensor gradient_sums() override {
    return tensor_over(partials_.buffers(), partials_.num_elements(), state_.device());
  }
  void open(int phase, const UpdatePlan& plan) override;
  [[nodiscard]] bool is_open() const override { return is_open_; }
  void arm() override;
  void rehearse() override { watch_.rehearse(); }
  [[nodiscard]] std::vector<std::size_t> rehearsed() override { return watch_.rehearsed(); }
  [[nodiscard]] bool completes(const std::vector<std::size_t>& /*buckets*/,
                               const std::function<void()>& replay) override {
    replay();  // a CPU has finished on return
    return true;
  }
  void send_replayed(const std::vector<std::size_t>& buckets) override;
  void complete_block(std::size_t block) override { watch_.complete_block(block); }
  void reduce() override;
  void await() override;
  [[nodiscard]] bool was_skipped() const override { return reducer_.was_skipped(); }
  [[nodiscard]] std::optional<double> agreed_norm() const override;
  [[nodiscard]] std::vector<Exposure> take_exposures() override;
  [[nodiscard]] std::size_t take_unfired() override { return std::exchange(unfired_, 0); }

 private:
  NetworkState& state_;
  comm::Lane& lane_;
  comm::PartialStack partials_;
  NetworkUpdater updater_;
  comm::Reducer reducer_;
  GradientWatch watch_;
  bool is_open_ = false;
  int phase_ = 0;
  bool agrees_ = false;  // on the norm, in the last opened exchange
  std::vector<Exposure> exposures_;
  std::size_t unfired_ = 0;
};

}  // namespace gangway::worker
