// SPDX-License-Identifier: MIT
// Lets the operators of a user's Python network run Gangway's CPU kernels, as blocks of families do
// (gan/blocks/layer_block.cpp). The network calls LibTorch's operators as always. Compute thread.
#pragma once

#include "gan/torch.hpp"

namespace gangway::gan {

/// While it lives, conv2d, conv_transpose2d, linear and batch_norm in training take Gangway's
/// kernels on this thread, for tensors that these support. All other tensors take LibTorch's.
/// Results are LibTorch's to rounding; derivatives of any order exist. Scopes may nest.
class OwnOperators {
 public:
  OwnOperators();
  OwnOperators(const OwnOperators&) = delete;
  OwnOperators& operator=(const OwnOperators&) = delete;
  ~OwnOperators();

  /// Asks the thread's next batch_norm to apply an activation in the same pass: z above zero,
  /// z * slope below. Without a scope nothing happens.
  static void join_activation(double slope);
  /// Ends that request. @return whether a batch_norm has applied the activation
  static bool end_joining();

 private:
  bool was_on_;
};

}  // namespace gangway::gan
