// SPDX-License-Identifier: MIT
// Sees which gradients of a network a backward has completed, and tells of each bucket whose
// gradients are all complete, while backward goes on. Armed for the one backward that is the last
// of its phase: only then is a gradient final when it has been added to. What a phase does not
// touch (a penalty alone gives some parameters no gradient) never fires; it leaves when the phase
// ends.
//
// A backward that a device records, or that is computed to be compared with a recording, rehearses:
// the same buckets become complete, and travel in the steps that play it.
//
// Compute thread, or the one of autograd's that works for it: on the CPU autograd calls hooks on
// the thread that called backward, for a CUDA device on a thread of that device, while the caller
// waits. The hooks allocate nothing.
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
  /// @param on_rehearsed  the same, of a backward that rehearses; null: nobody hears
  GradientWatch(NetworkState& state, std::function<void(std::size_t)> on_bucket,
                std::function<void(std::size_t)> on_rehearsed = {});
  ~GradientWatch();
  GradientWatch(const GradientWatch&) = delete;
  GradientWatch& operator=(const GradientWatch&) = delete;

  /// The last backward of a phase follows. Buckets that hold statistics alone are complete already:
  /// forward has left them.
  void arm();
  /// As arm(), of a backward that rehearses.
  void rehearse();
  /// It is over. Returns the buckets that it has completed, in that order.
  std::vector<std::size_t> rehearsed();
  /// The phase is over. Returns how many parameters it has left without a gradient: their zeros
  /// travel with the rest. 0 where it was not armed.
  std::size_t disarm();
  /// All parameters of a block of the network are complete: for gradients that are not accumulated
  /// by autograd (penalties).
  void complete_block(std::size_t block);

 private:
  struct Hook;

  void begin();
  void complete(std::size_t parameter);
  void tell(std::size_t bucket);

  NetworkState& state_;
  std::function<void(std::size_t)> on_bucket_;
  std::function<void(std::size_t)> on_rehearsed_;
  std::vector<std::vector<std::size_t>> buckets_;  // by parameter: those that hold a piece of it
  std::vector<std::size_t> first_of_block_;        // parameter; one more than there are blocks
  std::vector<std::size_t> parameters_in_;         // by bucket
  std::vector<std::size_t> awaited_;               // by bucket: parameters still to come
  std::vector<char> has_fired_;                    // by parameter
  bool is_armed_ = false;
  bool rehearses_ = false;              // what is armed for
  std::vector<std::size_t> rehearsed_;  // buckets
};

}  // namespace gangway::worker
