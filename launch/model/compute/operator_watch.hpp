// SPDX-License-Identifier: MIT
// Counts what LibTorch's operators compute and move, for `gangway bench compute`: by their shapes,
// not by counters of the processor. Thread that constructs it.
#pragma once

#include <memory>
#include <string_view>

#include <ATen/record_function.h>

#include "gan/torch.hpp"

namespace gangway::launch {

struct OperatorSums {
  double operations = 0.0;       ///< of matrix products and convolutions; a multiply-add is two
  double product_seconds = 0.0;  ///< spent in these products
  double bytes = 0.0;  ///< of all tensors that operators read and write, each once an operator
};

/// Returns the operations of a matrix product or convolution, products outside of a picture too.
/// @param name    of the operator, "aten::mm"
/// @param inputs  its arguments
/// @return 0 for any other operator
[[nodiscard]] double product_operations(std::string_view name,
                                        c10::ArrayRef<const c10::IValue> inputs);

/// Adds up the operators of its thread while it lives, backward's too. An operator inside another
/// one does not count again.
class OperatorWatch {
 public:
  OperatorWatch();
  OperatorWatch(const OperatorWatch&) = delete;
  OperatorWatch& operator=(const OperatorWatch&) = delete;
  ~OperatorWatch();

  [[nodiscard]] const OperatorSums& sums() const { return state_->sums; }

  struct State final : c10::DebugInfoBase {
    OperatorSums sums;
    int depth = 0;          ///< operators that the thread is in
    int product_depth = 0;  ///< products among them
  };

 private:
  std::shared_ptr<State> state_;
  c10::DebugInfoGuard guard_;
  at::CallbackHandle callback_;
};

}  // namespace gangway::launch
