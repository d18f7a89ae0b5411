// SPDX-License-Identifier: MIT
// Observes an NcclReducer's updates. Its work runs on the reducer's stream, before and after each
// update. Called by NcclReducer on the lane thread.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/arena/arena_layout.hpp"
#include "comm/cuda/slice_update.hpp"

namespace gangway::comm {

class UpdateViewer {
 public:
  virtual ~UpdateViewer() = default;
  /// Called before `update`, of elements `range` of the network, is launched on `stream`.
  virtual void before_update(const SliceUpdate& update, ElementRange range,
                             cudaStream_t stream) = 0;
  virtual void after_update(const SliceUpdate& update, ElementRange range, cudaStream_t stream) = 0;
  /// Called after all updates of the phase were launched.
  virtual void all_updated(cudaStream_t stream) = 0;
};

}  // namespace gangway::comm
