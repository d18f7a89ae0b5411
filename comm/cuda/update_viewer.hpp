// SPDX-License-Identifier: MIT
// Who sees what an NcclReducer's updates do, on the stream that makes them: what it puts there lies
// before and behind them. Lane thread, which launches.
#pragma once

#include <cuda_runtime_api.h>

#include "comm/arena/arena_layout.hpp"
#include "comm/cuda/slice_update.hpp"

namespace gangway::comm {

class UpdateViewer {
 public:
  virtual ~UpdateViewer() = default;
  /// `update`, of `range` of the network, is launched on `stream` next.
  virtual void before_update(const SliceUpdate& update, ElementRange range,
                             cudaStream_t stream) = 0;
  virtual void after_update(const SliceUpdate& update, ElementRange range, cudaStream_t stream) = 0;
  /// All updates of the phase were launched.
  virtual void all_updated(cudaStream_t stream) = 0;
};

}  // namespace gangway::comm
