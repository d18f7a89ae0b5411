// SPDX-License-Identifier: MIT
#include "gan/kernels/vector_functions.hpp"

#include <ATen/Functions.h>

namespace gangway::gan {

void choose_vector_kernels() {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor x = at::full({1}, 0.5, type);
    for (auto* const function :
         {at::acos, at::asin, at::atan, at::cos, at::erf, at::erfc, at::erfinv, at::exp, at::log,
          at::log10, at::log2, at::sin, at::sqrt, at::tan, at::tanh, at::trunc}) {
      function(x);
    }
  }
}

}  // namespace gangway::gan
