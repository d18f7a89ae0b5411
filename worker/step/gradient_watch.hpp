// SPDX-License-Identifier: MIT
// Reports each bucket of a network when a backward has completed all its gradients, while backward
// continues. Armed for the last backward of a phase, because only then does an added gradient
// become final. Parameters without a gradient in the phase (a penalty may skip some) never fire;
// their buckets leave when the phase ends.
//
// A recorded backward, or one compared with a recording, is rehearsed: its completed buckets are
// noted and travel in the steps that replay the recording.
//
// Compute thread, or autograd's thread on its behalf. On the CPU autograd calls hooks on the thread
// that called backward; for a CUDA device, on a thread of that device while the caller waits.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "worker/state/network_state.hpp"

namespace gangway::worker {

class GradientWatch {
 public:
  /// Puts a post-accumulate hook on each parameter that this worker holds of the network.
  /// @param on_bucket  called with each bucket that has become complete
  /// @param on_rehearsed  called instead in a rehearsed backward; null: no call
  GradientWatch(NetworkState& state, std::function<void(std::size_t)> on_bucket,
                std::function<void(std::size_t)> on_rehearsed = {});
  ~GradientWatch();
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

  /// Call before the last backward of a phase. Buckets that hold only statistics are complete at
  /// once, because the forward has finished them.
  void arm();
  /// Like arm(), for a rehearsed backward.
  void rehearse();
  /// Ends a rehearsed backward. Returns the buckets that it completed, in order.
  std::vector<std::size_t> rehearsed();
  /// Ends the phase. Returns the number of parameters without a gradient, whose zeros travel with
  /// the rest. 0 if it was not armed.
  std::size_t disarm();
  /// Reports that all gradients of a block are complete, for gradients that autograd does not
  /// accumulate (penalties).
  void complete_block(std::size_t block);

 private:
  struct Hook;

  void begin();
  void complete(std::size_t parameter);
  void tell(std::size_t bucket);

  NetworkState& state_;
  std::function<void(std::size_t)> on_bucket_;
  std::function<void(std::size_t)> on_rehearsed_;
  std::vector<std::vector<std::size_t>> buckets_;  // by parameter: the buckets that hold a part
  std::vector<std::size_t> first_of_block_;        // first parameter of each block, and the end
  std::vector<std::size_t> parameters_in_;         // by bucket
  std::vector<std::size_t> awaited_;               // by bucket: parameters still to come
  std::vector<char> has_fired_;                    // by parameter
  bool is_armed_ = false;
  bool rehearses_ = false;              // whether the armed backward is rehearsed
  std::vector<std::size_t> rehearsed_;  // buckets
};

}  // namespace gangway::worker
