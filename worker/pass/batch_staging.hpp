// SPDX-License-Identifier: MIT
// Copies real batches to a device's memory ahead of their use: worker/cuda/cuda_staging.hpp.
// Workers on CPUs have none. Compute thread, except allocate().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/loader.hpp"
#include "gan/named_tensors.hpp"
#include "gan/torch.hpp"
#include "job/spec.hpp"

namespace gangway::worker {

struct RealBatch {
  at::Tensor images;  ///< [N, C, H, W] or [N, 2], float32
  at::Tensor labels;  ///< [N], int64
  /// Used instead of both if the data are no pictures; in host memory.
  gan::NamedTensors named = {};
};

struct StagingSetup {
  std::vector<std::int64_t> shape;  ///< of a batch's images
  MemoryFormat format = MemoryFormat::kContiguous;
  std::size_t num_places = 1;  ///< batches in use at once
  std::size_t num_read = 1;    ///< most batches that the loader holds at once
  std::size_t examples = 0;    ///< places of KeptExamples; 0: keeps none
};

class BatchStaging {
 public:
  virtual ~BatchStaging() = default;
  /// Returns host memory for asynchronous copies. Any thread. Outlives this. Calls no CUDA function
  /// after construction, because page-locking may wait for all work on the device.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  /// Returns whether another batch can be staged without waiting.
  [[nodiscard]] virtual bool has_room() = 0;
  /// Begins to copy a packed batch, after the earlier ones. Waits if there is no room.
  virtual void stage(data::Batch&& batch) = 0;
  [[nodiscard]] virtual std::size_t num_staged() const = 0;
  /// Returns the oldest staged batch's request. @pre one is staged
  [[nodiscard]] virtual const data::BatchRequest& next_request() const = 0;
  /// Puts the oldest staged batch at `place`, for all later work on the compute stream. A place is
  /// always the same memory. @pre one is staged
  virtual const RealBatch& put(std::size_t place) = 0;
  /// Returns the examples that the device keeps for the whole run; null: none.
  [[nodiscard]] virtual const data::KeptExamples* kept() const { return nullptr; }
  /// Returns the memory of a batch that the device has copied, for the loader.
  [[nodiscard]] virtual std::optional<data::Batch> take_copied() = 0;
};

}  // namespace gangway::worker
