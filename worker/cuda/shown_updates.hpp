// SPDX-License-Identifier: MIT
// Shows watchers the updates that a device makes: copies of elements, and sums computed on the
// device, in order on the stream of the updates. The lane polls for them and hands them on; the
// host waits for nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "comm/cuda/cuda_handles.hpp"
#include "comm/cuda/update_viewer.hpp"
#include "comm/cuda/value_counts.hpp"
#include "comm/lane.hpp"
#include "worker/state/network_state.hpp"
#include "worker/state/update_watcher.hpp"

namespace gangway::worker {

class ShownUpdates final : public comm::Exchange, public comm::UpdateViewer {
 public:
  /// Allocates its memory on the current device.
  /// @param worker   place in the group that holds the same part as this worker
  /// @param largest  elements of the largest slice that is updated at once
  ShownUpdates(NetworkState& state, int worker, std::size_t largest);

  // Compute thread.

  /// Adds `watcher`, which outlives this. @pre nothing is under way
  void show_to(UpdateWatcher& watcher) { watchers_.push_back(&watcher); }
  /// Returns whether a watcher wishes to see something of the next opened update.
  [[nodiscard]] bool is_wished_for() const;
  /// Shows the next update, made by `plan`, as far as watchers wish. @pre needs() is kNothing
  void begin(const UpdatePlan& plan);

  // Any thread.

  [[nodiscard]] Need needs() const override { return need_.load(std::memory_order_acquire); }

  // Lane thread.

  bool advance() override;
  void before_update(const comm::SliceUpdate& update, comm::ElementRange range,
                     cudaStream_t stream) override;
  void after_update(const comm::SliceUpdate& update, comm::ElementRange range,
                    cudaStream_t stream) override;
  void all_updated(cudaStream_t stream) override;

 private:
  struct Wished {
    UpdateWatcher* watcher;
    UpdateWish wish;
  };
  /// Value counts of one tensor.
  struct Counts {
    comm::ValueCounts weights;
    comm::ValueCounts gradients;
  };
  [[nodiscard]] bool is_launching() const { return needs() == Need::kCompute; }
  [[nodiscard]] std::size_t num_blocks() const;
  [[nodiscard]] comm::ElementRange own_parameters(comm::ElementRange range) const;
  /// Returns the device's sums of squares by block, of gradients, changes or weights.
  [[nodiscard]] double* squares(std::size_t kind) const;
  [[nodiscard]] float* floats(const comm::CudaMemory& memory) const {
    return static_cast<float*>(memory.get());
  }
  [[nodiscard]] Counts* counts(const comm::CudaMemory& memory) const {
    return static_cast<Counts*>(memory.get());
  }
  /// Returns device pointers to what `update` changes, from element `from` on: weights, moments and
  /// average.
  [[nodiscard]] std::vector<const float*> changed(const comm::SliceUpdate& update,
                                                  std::size_t from) const;
  /// Copies the wished-for elements to the host. @param first  part of the record
  void copy_elements(const comm::SliceUpdate& update, comm::ElementRange range, std::size_t first,
                     cudaStream_t stream);
  /// Sets the sums to zero. Once per update.
  void clear(cudaStream_t stream);
  void count_values(const comm::SliceUpdate& update, comm::ElementRange range, cudaStream_t stream);
  /// Returns part `index` of the record: the mean, then the changed arrays before and after.
  [[nodiscard]] std::span<float> part(std::size_t index) const;
  [[nodiscard]] UpdateSlice slice(std::size_t first) const;
  void hand_on();

  NetworkState& state_;
  int worker_;
  std::size_t num_changed_;
  std::vector<UpdateWatcher*> watchers_;
  std::atomic<Need> need_ = Need::kNothing;
  // State of the update that is being shown.
  UpdatePlan plan_;
  std::vector<Wished> wished_;
  UpdateWish all_;  // union of all wishes
  bool is_cleared_ = false;
  bool may_be_skipped_ = false;
  comm::CudaEvent made_;
  comm::CudaMemory mean_;    // of the current slice
  comm::CudaMemory before_;  // its weights before the update, then their change
  comm::CudaMemory squares_;
  comm::CudaMemory counts_;  // by parameter
  comm::PinnedMemory record_, squares_on_host_, counts_on_host_, is_skipped_;
};

}  // namespace gangway::worker
