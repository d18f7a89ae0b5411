// SPDX-License-Identifier: MIT
// Prints values for tests/gan/evaluation/swd_reference.py: pictures from a formula, their pyramids
// and patches, and their distances.
#include <fmt/format.h>

#include "gan/evaluation/sliced_wasserstein.hpp"
#include "gan/torch.hpp"

namespace {

void print(const char* name, const at::Tensor& values) {
  fmt::print("{}", name);
  const at::Tensor flat = values.contiguous().flatten();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    fmt::print(" {:.9g}", flat.const_data_ptr<float>()[i]);
  }
  fmt::print("\n");
}

/// [8, 3, 32, 32], by a formula that swd_reference.py has too.
at::Tensor pictures(double shift) {
  const at::Tensor at_place = at::arange(8 * 3 * 32 * 32, at::kDouble);
  return at::sin(at_place * (0.37 + shift) + at::floor(at_place / 97.0))
      .to(at::kFloat)
      .reshape({8, 3, 32, 32});
}

}  // namespace

int main() {
  using namespace gangway::gan;
  std::vector<std::vector<at::Tensor>> sets;
  for (const double shift : {0.0, 0.11}) {
    const at::Tensor images = pictures(shift);
    print("finest", laplacian_pyramid(images)[0]);
    print("coarsest", laplacian_pyramid(images)[1]);
    sets.push_back(
        pyramid_patches([&](std::int64_t first,
                            std::int64_t count) { return images.slice(0, first, first + count); },
                        8, 40, 3));
    print("patches", sets.back()[0]);
  }
  const SlicedDistance distance = sliced_distance(sets[0], sets[1], 5);
  fmt::print("distance {:.9g} {:.9g} {:.9g}\n", distance.by_level[0], distance.by_level[1],
             distance.mean);
}
