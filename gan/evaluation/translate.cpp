// SPDX-License-Identifier: MIT
#include "gan/evaluation/translate.hpp"

#include <vector>

namespace gangway::gan {

SidePictures read_sides(const data::Dataset& dataset, std::span<const std::int64_t> examples) {
  const data::ExampleShape shape = dataset.shape();
  const at::Tensor both = at::empty(
      {static_cast<std::int64_t>(examples.size()), shape.channels, shape.height, shape.width},
      at::kFloat);
  auto* out = both.mutable_data_ptr<float>();
  for (const std::int64_t example : examples) {
    (void)dataset.read(example, {out, shape.elements()});
    out += shape.elements();
  }
  const std::int64_t channels = shape.channels / 2;
  return {both.narrow(1, 0, channels).contiguous(),
          both.narrow(1, channels, channels).contiguous()};
}

at::Tensor translated(Network& generator, const at::Tensor& pictures) {
  const at::NoGradGuard no_grad;
  return generator
      .forward({{"image", pictures.to(generator.device())}},
               {.mode = Mode::kEvaluation, .sink = nullptr, .key = {}})
      .to(at::kCPU);
}

at::Tensor rows_of_sides(Network* generator, const data::Dataset& dataset,
                         std::span<const std::int64_t> examples, int columns) {
  const auto across = static_cast<std::size_t>(columns);
  std::vector<at::Tensor> rows;
  for (std::size_t begin = 0; begin < examples.size(); begin += across) {
    const SidePictures sides = read_sides(dataset, examples.subspan(begin, across));
    rows.push_back(sides.first);
    if (generator != nullptr) {
      rows.push_back(translated(*generator, sides.first).contiguous());
    }
    rows.push_back(sides.second);
  }
  return at::cat(rows);
}

}  // namespace gangway::gan
