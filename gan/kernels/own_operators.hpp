// SPDX-License-Identifier: MIT
// Lets the operators of networks run Gangway's CPU kernels. Blocks and Python modules call
// LibTorch's operators as always. Compute thread.
#pragma once

namespace gangway::gan {

/// Operators that Gangway's kernels may compute. Second derivatives of linear and batch_norm are
/// slower than LibTorch's own.
enum class Owned { kNothing, kConvolutions, kAll };

/// While it lives, conv2d and conv_transpose2d (kConvolutions), and linear and batch_norm in
/// training (kAll) take Gangway's kernels on this thread, for tensors that these support. All other
/// tensors take LibTorch's. Results are LibTorch's to rounding; derivatives of any order exist. The
/// innermost scope holds.
class OwnOperators {
 public:
  explicit OwnOperators(Owned owned);
  OwnOperators(const OwnOperators&) = delete;
  OwnOperators& operator=(const OwnOperators&) = delete;
  ~OwnOperators();

  /// Asks the thread's next batch_norm to apply an activation in the same pass: z above zero,
  /// z * slope below. Without a scope nothing happens.
  static void join_activation(double slope);
  /// Ends that request. @return whether a batch_norm has applied the activation
  static bool end_joining();

 private:
  Owned before_;
};

}  // namespace gangway::gan
