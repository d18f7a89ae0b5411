// SPDX-License-Identifier: MIT
// A network's exchange between CUDA devices: partials, watch and reducer in device memory, the lane
// as the thread that launches. Nothing here waits for the GPU. Compute thread, and autograd's
// thread of the device for what completes a bucket.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "comm/nccl/nccl_reducer.hpp"
#include "comm/reduce/partial_stack.hpp"
#include "worker/cuda/device_memory.hpp"
#include "worker/cuda/updates/shown_updates.hpp"
#include "worker/cuda/wait_times.hpp"
#include "worker/step/gradient_watch.hpp"
#include "worker/step/network_exchange.hpp"

namespace gangway::worker {

class CudaExchange final : public NetworkExchange {
 public:
  struct Setup {
    NetworkState& state;
    DeviceNetwork& memory;  ///< where the state lies
    NetworkId network{};
    const ExchangeSetup& exchange;
    comm::NcclSession& session;  ///< of those whose exchange it is
    int worker = 0;              ///< among them
    /// Where the network is cut and clipped: of all who hold some of it, in their order.
    comm::NcclSession* whole = nullptr;
    const Job& job;
    TransportKind transport;        ///< layout.transport
    cudaStream_t stream = nullptr;  ///< of all computing
    /// Waits until the exchanges of all networks lie on their stream.
    std::function<void()> wait_for_launches = {};
  };
  explicit CudaExchange(const Setup& setup);
  ~CudaExchange() override;
  CudaExchange(const CudaExchange&) = delete;
  CudaExchange& operator=(const CudaExchange&) = delete;

  /// What it wishes for, a little later.
  void show_updates_to(UpdateWatcher& watcher) override { shown_.show_to(watcher); }
  void await_shown() override;
  /// By the host's reference of the kernels.
  void recompute(const UpdatePlan& plan, const comm::ArenaLayout& layout,
                 const UpdateSlice& slice) const override;
  void open_leaf() override;
  void close_leaf(int microbatch) override;
  void restart_leaves() override;
  [[nodiscard]] at::Tensor gradient_sums() override {
    return tensor_over(partials_.buffers(), partials_.num_elements(), state_.device());
  }
  void open(int phase, const UpdatePlan& plan) override;
  [[nodiscard]] bool is_open() const override { return is_open_; }
  void arm() override;
  void rehearse() override;
  [[nodiscard]] std::vector<std::size_t> rehearsed() override { return watch_.rehearsed(); }
  [[nodiscard]] bool completes(const std::vector<std::size_t>& buckets,
                               const std::function<void()>& play) override;
  void send_played(const std::vector<std::size_t>& buckets) override;
  void complete_block(std::size_t block) override { watch_.complete_block(block); }
  void reduce() override;
  void await() override;
  /// Waits until the device has come past the update.
  [[nodiscard]] bool was_skipped() const override;
  [[nodiscard]] bool tells_late() const override { return skips_ && !is_bounded_; }
  /// Where the job bounds it: waits for the device, so that a step whose gradient is out of bounds
  /// is the last one.
  [[nodiscard]] std::optional<double> agreed_norm() const override;
  [[nodiscard]] std::vector<Exposure> take_exposures() override;
  [[nodiscard]] std::size_t take_unfired() override;

  /// Until all that was opened lies on its stream; counted as the host's wait.
  void wait_for_launches();

 private:
  using Registrations = std::vector<std::unique_ptr<comm::NcclRegistration>>;
  /// Lets NCCL reach what travels, but for networks that are cut: parts of an arena travel by copy.
  [[nodiscard]] Registrations shared_memory() const;
  [[nodiscard]] comm::NcclReducer::Setup reducer_setup();
  /// Elements of the largest slice that this worker updates.
  [[nodiscard]] std::size_t largest_slice() const;
  /// Merges what is complete of `bucket` and gives it away; a second time changes nothing.
  void complete(std::size_t bucket);
  /// Merges it where that was not done yet.
  void fold(std::size_t bucket);
  /// Of a backward that rehearses.
  void complete_rehearsed(std::size_t bucket);

  NetworkState& state_;
  DeviceNetwork& memory_;
  ExchangeSetup exchange_;
  Setup setup_;
  DeviceGradientMemory gradients_;
  comm::PartialStack partials_;
  Registrations registrations_;
  ShownUpdates shown_;
  comm::NcclReducer reducer_;
  GradientWatch watch_;
  WaitTimes waits_;
  std::vector<char> is_complete_;  // by bucket, in the exchange that is open
  std::vector<char> is_folded_;    // by bucket, before its exchange
  bool is_open_ = false;
  bool is_awaited_ = true;
  int phase_ = 0;
  bool skips_;                       // updates whose gradient is not finite
  bool is_bounded_;                  // whether the job bounds the norm
  std::int64_t scale_exponent_ = 0;  // of the losses, in the update that was opened last
  comm::PinnedMemory is_skipped_;    // as the device has told it, once it has come to...
  comm::CudaEvent skip_told_;
  std::size_t unfired_ = 0;
};

}  // namespace gangway::worker
