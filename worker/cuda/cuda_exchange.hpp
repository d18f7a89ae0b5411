// SPDX-License-Identifier: MIT
// Runs a network's exchange between CUDA devices: partials, watch and reducer in device memory; the
// lane launches. Nothing here waits for the GPU unless it says so. Compute thread; autograd's
// device thread completes buckets.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "comm/nccl/nccl_reducer.hpp"
#include "comm/reduce/partial_stack.hpp"
#include "worker/cuda/device_memory.hpp"
#include "worker/cuda/shown_updates.hpp"
#include "worker/cuda/wait_times.hpp"
#include "worker/step/gradient_watch.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

struct CudaExchangeSetup {
  NetworkState& state;
  DeviceNetwork& memory;  ///< where the state lies
  NetworkId network{};
  const ExchangeSetup& exchange;
  comm::NcclSession& session;  ///< of the workers that exchange it
  int worker = 0;              ///< place in that session
  /// Session of all holders of the network, in their order, if it is cut and clipped.
  comm::NcclSession* whole = nullptr;
  const Job& job;
  TransportKind transport;        ///< layout.transport
  cudaStream_t stream = nullptr;  ///< of all computing
  /// Waits until the exchanges of all networks are launched.
  std::function<void()> wait_for_launches = {};
};

class CudaExchange final : public NetworkExchange, public RecordedExchange {
 public:
  explicit CudaExchange(const CudaExchangeSetup& setup);
  ~CudaExchange() override;
  CudaExchange(const CudaExchange&) = delete;
  CudaExchange& operator=(const CudaExchange&) = delete;

  [[nodiscard]] RecordedExchange* recorded() override { return this; }
  /// Shows `watcher` what it wishes for, some time after the update.
  void show_updates_to(UpdateWatcher& watcher) override { shown_.show_to(watcher); }
  void await_shown() override;
  /// Computes with the host's reference version of the kernels.
  void recompute(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                 const UpdateSlice& slice) const override;
  void open_leaf() override { state_.bind_gradients(partials_.open_leaf()); }
  void close_leaf(int microbatch) override { partials_.push(microbatch); }
  void restart_leaves() override;
  [[nodiscard]] at::Tensor gradient_sums() override {
    return tensor_over(partials_.buffers(), partials_.num_elements(), state_.device());
  }
  void open(int phase, const UpdatePlan& plan) override;
  [[nodiscard]] bool is_open() const override { return is_open_; }
  void arm() override { watch_.arm(); }
  void rehearse() override;
  [[nodiscard]] std::vector<std::size_t> rehearsed() override { return watch_.rehearsed(); }
  [[nodiscard]] bool completes(const std::vector<std::size_t>& buckets,
                               const std::function<void()>& replay) override;
  void send_replayed(const std::vector<std::size_t>& buckets) override;
  void complete_block(std::size_t block) override { watch_.complete_block(block); }
  void reduce() override;
  void await() override;
  /// Waits until the device has passed the update.
  [[nodiscard]] bool was_skipped() const override;
  [[nodiscard]] bool tells_late() const override { return skips_ && !is_bounded_; }
  /// Waits for the device if the job bounds the norm, so that training stops at the first step out
  /// of bounds.
  [[nodiscard]] std::optional<double> agreed_norm() const override;
  [[nodiscard]] std::vector<Exposure> take_exposures() override { return waits_.take(); }
  [[nodiscard]] std::size_t take_unfired() override { return std::exchange(unfired_, 0); }

  /// Waits until every opened exchange is launched; counted as the host's wait.
  void wait_for_launches();

 private:
  using Registrations = std::vector<std::unique_ptr<comm::NcclRegistration>>;
  /// Registers memory with NCCL, except of networks that are cut: parts of an arena travel by copy.
  [[nodiscard]] Registrations shared_memory() const;
  [[nodiscard]] comm::NcclReducerSetup reducer_setup();
  /// Returns the elements of the largest slice that this worker updates.
  [[nodiscard]] std::size_t largest_slice() const;
  /// Folds the sums of `bucket` and hands it to the reducer; a second call does nothing.
  void complete(std::size_t bucket);
  /// Folds the sums of `bucket` unless that is already done.
  void fold(std::size_t bucket);
  /// Folds `bucket` in a rehearsed backward and marks on the stream that it is complete.
  void complete_rehearsed(std::size_t bucket);

  NetworkState& state_;
  DeviceNetwork& memory_;
  ExchangeSetup exchange_;
  CudaExchangeSetup setup_;
  DeviceGradientMemory gradients_;
  comm::PartialStack partials_;
  Registrations registrations_;
  ShownUpdates shown_;
  comm::NcclReducer reducer_;
  GradientWatch watch_;
  WaitTimes waits_;
  std::vector<char> is_complete_;  // by bucket, in the open exchange
  std::vector<char> is_folded_;    // by bucket, before its exchange
  bool is_open_ = false;
  bool is_awaited_ = true;
  int phase_ = 0;
  bool skips_;                       // updates whose gradient is not finite
  bool is_bounded_;                  // whether the job bounds the norm
  std::int64_t scale_exponent_ = 0;  // of the losses, in the last opened update
  comm::PinnedMemory is_skipped_;    // valid once the device has reached the event below
  comm::CudaEvent skip_event_;
  std::size_t unfired_ = 0;
};

}  // namespace gangway::worker
