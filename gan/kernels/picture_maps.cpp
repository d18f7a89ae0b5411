// SPDX-License-Identifier: MIT
#include "gan/kernels/picture_maps.hpp"

#include <array>

#include <torch/csrc/autograd/custom_function.h>

#include "gan/kernels/convolution.hpp"
#include "gan/kernels/tiled_maps.hpp"
#include "gan/kernels/weight_gradients.hpp"

namespace gangway::gan {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Limits of thin maps: many channels on one side, few on the other. For these, LibTorch's kernels
/// run at 1/30 of the speed of a matrix product.
constexpr std::int64_t kManyChannels = 16;
constexpr std::int64_t kFewChannels = 4;
/// Up to this many kernel places, LibTorch's weight gradients are slower than a matrix product: 1/2
/// of its speed in float32, 1/5 in bf16.
constexpr std::int64_t kFewPlaces = 16;

/// Returns [N * H * W, C], by picture and pixel.
at::Tensor as_rows(const at::Tensor& x) { return x.permute({0, 2, 3, 1}).reshape({-1, x.size(1)}); }

/// Returns [wide, kernel * kernel * narrow] of a weight [wide, narrow, kernel, kernel]. `wide` are
/// the channels of the smaller pictures, in both directions.
at::Tensor as_rows_of_patches(const at::Tensor& weight) {
  return weight.permute({0, 2, 3, 1}).reshape({weight.size(0), -1});
}

/// Returns whether own products may compute a float32 map: with one channel the pictures may be
/// contiguous, and then LibTorch's results are, too.
bool knows_format(const at::Tensor& weight) {
  return weight.scalar_type() == at::kFloat && weight.size(1) > 1;
}

/// Maps small pictures to large ones (transposed convolution).
at::Tensor spread(const at::Tensor& small, const at::Tensor& weight, at::IntArrayRef large,
                  const KernelPlaces& places) {
  const bool is_thin = weight.size(1) <= kFewChannels && weight.size(0) >= kManyChannels &&
                       small.scalar_type() == at::kFloat;
  if (is_thin) {
    return sum_of_patches(at::mm(as_rows(small), as_rows_of_patches(weight)), large, places);
  }
  if (knows_format(weight) && can_tile_map(large[1]) && places.kernel >= places.stride) {
    return tiled_transposed_convolution(small, weight, large, places);
  }
  return at::conv_transpose2d(
      small, weight, {}, places.stride, places.padding,
      large[2] - (small.size(2) - 1) * places.stride - places.kernel + 2 * places.padding);
}

/// Maps large pictures to small ones (convolution).
at::Tensor gathered(const at::Tensor& large, const at::Tensor& weight,
                    const std::optional<at::Tensor>& bias, const KernelPlaces& places) {
  return knows_format(weight) && can_tile_map(weight.size(0))
             ? tiled_convolution(large, weight, bias, places)
             : at::conv2d(large, weight, bias, places.stride, places.padding);
}

/// Returns the gradient of the weight, in its shape.
at::Tensor weight_gradient(const at::Tensor& large, const at::Tensor& small,
                           const at::Tensor& weight, const KernelPlaces& places) {
  if (can_gather_weight_gradient(small, weight)) {
    return gathered_weight_gradient(large, small, weight, places);
  }
  const bool is_product = small.size(2) * small.size(3) <= kFewPlaces &&
                          weight.size(0) >= kManyChannels && weight.size(1) >= kManyChannels;
  if (is_product) {
    return at::mm(as_rows(small).t(), patches_of(large, places))
        .view({weight.size(0), places.kernel, places.kernel, weight.size(1)})
        .permute({0, 3, 1, 2});
  }
  const std::array<std::int64_t, 2> stride{places.stride, places.stride};
  const std::array<std::int64_t, 2> padding{places.padding, places.padding};
  return std::get<1>(at::convolution_backward(small, large, weight, std::nullopt, stride, padding,
                                              {1, 1}, /*transposed=*/false, {0, 0}, /*groups=*/1,
                                              {false, true, false}));
}

struct PictureMap : torch::autograd::Function<PictureMap> {
  static at::Tensor forward(AutogradContext* context, MapDirection direction, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                            const KernelPlaces& places) {
    context->save_for_backward({x, weight});
    context->saved_data["up"] = direction == MapDirection::kUp;
    context->saved_data["bias"] = bias.has_value();
    context->saved_data["places"] =
        std::vector<std::int64_t>{places.kernel, places.stride, places.padding};
    if (direction == MapDirection::kDown) {
      return gathered(x, weight, bias, places);
    }
    const auto larger = [&](std::int64_t pixels) {
      return (pixels - 1) * places.stride - 2 * places.padding + places.kernel;
    };
    at::Tensor y = spread(
        x, weight, {x.size(0), weight.size(1), larger(x.size(2)), larger(x.size(3))}, places);
    return bias ? y.add_(bias->reshape({1, -1, 1, 1})) : y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const std::vector<std::int64_t> numbers = context->saved_data["places"].toIntVector();
    const KernelPlaces places{numbers[0], numbers[1], numbers[2]};
    const bool is_up = context->saved_data["up"].toBool();
    const bool has_bias = context->saved_data["bias"].toBool() && context->needs_input_grad(2);
    if (at::GradMode::is_enabled()) {
      auto [of_x, of_weight, of_bias] = convolution_gradients(
          gradients[0], x, weight,
          {.stride = {places.stride, places.stride},
           .padding = {places.padding, places.padding},
           .dilation = {1, 1},
           .is_transposed = is_up,
           .output_padding = {0, 0}},
          {context->needs_input_grad(0), context->needs_input_grad(1), has_bias});
      return {{}, of_x, of_weight, of_bias, {}};
    }
    const at::Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    at::Tensor of_x;
    at::Tensor of_weight;
    at::Tensor of_bias;
    if (context->needs_input_grad(0)) {
      of_x = is_up ? gathered(gradient, weight, {}, places)
                   : spread(gradient, weight, x.sizes(), places);
    }
    if (context->needs_input_grad(1)) {
      of_weight = is_up ? weight_gradient(gradient, x, weight, places)
                        : weight_gradient(x, gradient, weight, places);
    }
    if (has_bias) {
      of_bias = gradient.sum({0, 2, 3});
    }
    return {{}, of_x, of_weight, of_bias, {}};
  }
};

}  // namespace

at::Tensor map_pictures(MapDirection direction, const at::Tensor& x, const at::Tensor& weight,
                        const std::optional<at::Tensor>& bias, const KernelPlaces& places) {
  return PictureMap::apply(direction, x, weight, bias, places);
}

bool can_map_pictures(const at::Tensor& x, const at::Tensor& weight) {
  const auto fits = [](const at::Tensor& tensor) {
    return tensor.is_cpu() && tensor.dim() == 4 &&
           tensor.is_contiguous(at::MemoryFormat::ChannelsLast) &&
           (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16);
  };
  return fits(x) && fits(weight) && x.scalar_type() == weight.scalar_type();
}

at::Tensor map_points(const at::Tensor& x, const at::Tensor& weight,
                      const std::optional<at::Tensor>& bias) {
  const std::int64_t out = weight.size(1);
  const std::int64_t kernel = weight.size(2);
  const bool is_last = weight.is_contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor y =
      is_last ? at::mm(x.flatten(1), as_rows_of_patches(weight))
                    .view({-1, kernel, kernel, out})
                    .permute({0, 3, 1, 2})
              : at::mm(x.flatten(1), weight.flatten(1)).view({-1, out, kernel, kernel});
  return bias ? y + bias->to(y.scalar_type()).reshape({1, -1, 1, 1}) : y;
}

}  // namespace gangway::gan
