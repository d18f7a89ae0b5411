// SPDX-License-Identifier: MIT
// Copies real batches to a CUDA device while it computes: as bytes from page-locked memory, on a
// separate stream. The compute stream converts each batch to the network's input when it needs it.
// Neither stream waits for the host. Compute thread.
//
//   copy stream      wait until the slot's last batch was taken in | copy | arrived
//   compute stream   wait until it has arrived | take in | taken in
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "worker/cuda/cuda_calls.hpp"
#include "worker/pass/batch_staging.hpp"

namespace gangway::worker {

class CudaStaging final : public BatchStaging {
 public:
  CudaStaging(const StagingSetup& setup, ComputingDevice device);
  /// Waits for its work on the streams.
  ~CudaStaging() override;
  CudaStaging(const CudaStaging&) = delete;
  CudaStaging& operator=(const CudaStaging&) = delete;

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) override;
  [[nodiscard]] bool has_room() override;
  void stage(data::Batch&& batch) override;
  [[nodiscard]] std::size_t num_staged() const override { return staged_.size(); }
  [[nodiscard]] const data::BatchRequest& next_request() const override {
    return slots_[staged_.front()].request;
  }
  const RealBatch& put(std::size_t place) override;
  [[nodiscard]] const data::KeptExamples* kept() const override {
    return kept_ ? &kept_->examples : nullptr;
  }
  [[nodiscard]] std::optional<data::Batch> take_copied() override;

 private:
  /// A batch as it was read, in device memory.
  struct Slot {
    comm::CudaMemory memory;
    comm::CudaEvent arrived;
    comm::CudaEvent taken_in;
    std::optional<data::Batch> batch;  // while the device may still copy from it
    data::BatchRequest request;
    std::vector<std::int64_t> places;  // of its examples in Kept, kept already or to be kept
    bool is_8_bit = false;
    bool is_kept = false;
    bool is_staged = false;  // and not yet put in a place
    bool was_used = false;
  };
  struct StagedBatch {
    comm::CudaMemory images;
    comm::CudaMemory labels;
    RealBatch batch;
  };
  /// Examples kept in device memory for the whole run, as bytes.
  struct Kept {
    data::KeptExamples examples;
    comm::CudaMemory images;
    comm::CudaMemory labels;
  };
  /// Reserves room for the job's examples, if the job wants it and they are few enough.
  void make_kept();
  /// Keeps the examples of `slot` that are to be kept; `slot` is to lie at `at`.
  void keep(const Slot& slot);
  /// Returns whether `slot` is free for staging; moves its copied batch to copied_.
  bool is_free(Slot& slot);
  [[nodiscard]] std::size_t free_slot();
  void add_place();

  StagingSetup setup_;
  ComputingDevice device_;
  std::size_t count_;
  std::size_t values_;
  comm::CudaStream copies_;
  std::vector<Slot> slots_;
  std::deque<std::size_t> staged_;  // slots, oldest first
  std::vector<data::Batch> copied_;
  std::size_t block_bytes_;  // of a batch
  std::size_t num_blocks_;
  std::shared_ptr<std::byte> blocks_;  // page-locked
  std::atomic<std::size_t> num_given_ = 0;
  std::vector<StagedBatch> places_;
  std::optional<Kept> kept_;
};

}  // namespace gangway::worker
