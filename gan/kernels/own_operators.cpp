// SPDX-License-Identifier: MIT
#include "gan/kernels/own_operators.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <ATen/autocast_mode.h>
#include <ATen/ops/batch_norm_native.h>
#include <ATen/ops/conv2d_native.h>
#include <ATen/ops/conv_transpose2d_native.h>
#include <ATen/ops/linear_native.h>
#include <torch/library.h>

#include "gan/kernels/dense_map.hpp"
#include "gan/kernels/fused_norm.hpp"
#include "gan/kernels/library_warnings.hpp"
#include "gan/kernels/picture_maps.hpp"

namespace gangway::gan {

namespace {

/// What LibTorch's dispatcher cannot hand to the operators below.
struct Thread {
  bool is_on = false;
  std::optional<double> slope;  // of the activation that the next norm may apply
  bool has_joined = false;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local Thread thread;

/// Gives LibTorch's operators back while a kernel of Gangway's calls them.
class Paused {
 public:
  Paused() { thread.is_on = false; }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;
  ~Paused() { thread.is_on = true; }
};

/// Returns whether `x` is memory of this CPU and nothing else: no tensor of functorch, of a mode of
/// Python's or of forward-mode derivatives, which Gangway's kernels do not see.
bool is_plain(const at::Tensor& x) {
  constexpr c10::DispatchKeySet kPlain{c10::DispatchKey::CPU, c10::DispatchKey::ADInplaceOrView,
                                       c10::DispatchKey::AutogradCPU,
                                       c10::DispatchKey::AutocastCPU};
  return x.defined() && (x.key_set() | kPlain) == kPlain && !x._fw_grad(/*level=*/0).defined();
}

bool is_plain_or_none(const std::optional<at::Tensor>& x) {
  return !x || !x->defined() || is_plain(*x);
}

std::optional<at::Tensor> given(const std::optional<at::Tensor>& bias) {
  return bias && bias->defined() ? bias : std::nullopt;
}

/// Returns the number that all of `values` equal.
std::optional<std::int64_t> common(c10::SymIntArrayRef values) {
  for (const c10::SymInt& value : values) {
    if (value != values.front()) {
      return std::nullopt;
    }
  }
  return values.empty() ? std::nullopt : values.front().maybe_as_int();
}

struct Places {
  c10::SymIntArrayRef stride;
  c10::SymIntArrayRef padding;
  c10::SymIntArrayRef dilation;
  const c10::SymInt& groups;
};

/// Returns the kernel's places if Gangway's convolutions support them and these tensors.
std::optional<KernelPlaces> own_places(MapDirection direction, const at::Tensor& x,
                                       const at::Tensor& weight,
                                       const std::optional<at::Tensor>& bias, const Places& at) {
  if (!thread.is_on || !is_plain(x) || !is_plain(weight) || !is_plain_or_none(bias) ||
      x.dim() != 4 || weight.dim() != 4 || weight.size(2) != weight.size(3) || x.numel() == 0 ||
      x.scalar_type() != weight.scalar_type() ||
      x.size(1) != weight.size(direction == MapDirection::kDown ? 1 : 0)) {
    return std::nullopt;
  }
  const auto stride = common(at.stride);
  const auto padding = common(at.padding);
  if (!stride || !padding || *stride < 1 || *padding < 0 || common(at.dilation) != 1 ||
      at.groups != 1) {
    return std::nullopt;
  }
  const KernelPlaces places{weight.size(2), *stride, *padding};
  const std::int64_t least = std::min(x.size(2), x.size(3));
  const std::int64_t made = direction == MapDirection::kDown
                                ? least + 2 * *padding - places.kernel
                                : (least - 1) * *stride - 2 * *padding + places.kernel - 1;
  return made < 0 ? std::nullopt : std::optional(places);
}

std::optional<at::Tensor> mapped(MapDirection direction, const at::Tensor& x,
                                 const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                                 const Places& at) {
  const std::optional<KernelPlaces> places = own_places(direction, x, weight, bias, at);
  if (!places) {
    return std::nullopt;
  }
  const Paused paused;
  if (direction == MapDirection::kUp && places->padding == 0 && x.size(2) == 1 && x.size(3) == 1) {
    return map_points(x, weight, given(bias));
  }
  const at::Tensor from = x.contiguous(at::MemoryFormat::ChannelsLast);
  if (!can_map_pictures(from, weight)) {
    return std::nullopt;
  }
  return map_pictures(direction, from, weight, given(bias), *places);
}

at::Tensor conv2d(const at::Tensor& x, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                  c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, c10::SymInt groups) {
  auto made = mapped(MapDirection::kDown, x, weight, bias, {stride, padding, dilation, groups});
  return made ? *std::move(made)
              : at::native::conv2d_symint(x, weight, bias, stride, padding, dilation, groups);
}

at::Tensor conv_transpose2d(const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                            c10::SymIntArrayRef padding, c10::SymIntArrayRef output_padding,
                            c10::SymInt groups, c10::SymIntArrayRef dilation) {
  std::optional<at::Tensor> made;
  if (common(output_padding) == 0) {
    made = mapped(MapDirection::kUp, x, weight, bias, {stride, padding, dilation, groups});
  }
  return made ? *std::move(made)
              : at::native::conv_transpose2d_symint(x, weight, bias, stride, padding,
                                                    output_padding, groups, dilation);
}

/// Maps in the type of `x`. A hook on the weight would see no gradient, because the kernel adds it.
std::optional<at::Tensor> mapped_densely(const at::Tensor& x, const at::Tensor& weight,
                                         const std::optional<at::Tensor>& bias) {
  if (!thread.is_on || !is_plain(x) || !is_plain(weight) || !is_plain_or_none(bias) ||
      !is_large_map(x, weight) || x.size(1) != weight.size(1) ||
      (weight.requires_grad() && !torch::autograd::impl::hooks(weight).empty())) {
    return std::nullopt;
  }
  const Paused paused;
  const at::Tensor y = map_densely(x, weight);
  const std::optional<at::Tensor> shift = given(bias);
  return shift ? y + shift->to(y.scalar_type()) : y;
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias) {
  std::optional<at::Tensor> made;
  if (x.scalar_type() == weight.scalar_type()) {
    made = mapped_densely(x, weight, bias);
  }
  return made ? *std::move(made) : at::native::linear(x, weight, bias);
}

/// Casts as autocast does, and keeps the weight a leaf for map_densely().
at::Tensor linear_under_autocast(const at::Tensor& x, const at::Tensor& weight,
                                 const std::optional<at::Tensor>& bias) {
  const c10::impl::ExcludeDispatchKeyGuard without_autocast(c10::DispatchKey::AutocastCPU);
  const at::ScalarType type = at::autocast::get_autocast_dtype(at::kCPU);
  if (type == at::kBFloat16 && thread.is_on && x.is_floating_point()) {
    if (auto made = mapped_densely(x.to(type), weight, bias)) {
      return *std::move(made);
    }
  }
  const auto cast = [type](const auto& tensor) {
    return at::autocast::cached_cast(type, tensor, at::kCPU);
  };
  return at::linear(cast(x), cast(weight), cast(bias));
}

at::Tensor batch_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                      const std::optional<at::Tensor>& shift, const std::optional<at::Tensor>& mean,
                      const std::optional<at::Tensor>& variance, bool is_training, double momentum,
                      double epsilon, bool cudnn_enabled) {
  const auto has = [](const std::optional<at::Tensor>& one) { return one && one->defined(); };
  if (!thread.is_on || !is_training || !has(gain) || !has(shift) || has(mean) != has(variance) ||
      !is_plain(x) || !is_plain(*gain) || !is_plain(*shift) || !is_plain_or_none(mean) ||
      !is_plain_or_none(variance) || !can_norm(x, *gain) || shift->scalar_type() != at::kFloat ||
      gain->sizes() != x.sizes().slice(1, 1) || shift->sizes() != gain->sizes() ||
      x.numel() == x.size(1)) {
    return at::native::batch_norm(x, gain, shift, mean, variance, is_training, momentum, epsilon,
                                  cudnn_enabled);
  }
  thread.has_joined = thread.slope.has_value();
  const double slope = thread.slope.value_or(1.0);
  const Paused paused;
  NormedFeatures made =
      normed_and_activated(x, gain->contiguous(), shift->contiguous(), epsilon, slope);
  if (has(mean)) {
    const at::NoGradGuard no_grad;
    mean->lerp_(made.mean.to(mean->scalar_type()), momentum);
    variance->lerp_(made.variance.to(variance->scalar_type()), momentum);
  }
  return std::move(made.features);
}

/// Registers the operators once a process. Without a scope they are LibTorch's own.
void register_operators() {
  static const std::pair<torch::Library, torch::Library> registered = [] {
    Silent silent;
    const c10::WarningUtils::WarningHandlerGuard guard(&silent);
    torch::Library plain(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradCPU, __FILE__,
                         __LINE__);
    plain.impl("conv2d", &conv2d);
    plain.impl("conv_transpose2d.input", &conv_transpose2d);
    plain.impl("linear", &linear);
    plain.impl("batch_norm", &batch_norm);
    torch::Library cast(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastCPU, __FILE__,
                        __LINE__);
    cast.impl("linear", &linear_under_autocast);
    return std::pair(std::move(plain), std::move(cast));
  }();
}

}  // namespace

OwnOperators::OwnOperators() : was_on_(std::exchange(thread.is_on, true)) { register_operators(); }

OwnOperators::~OwnOperators() { thread.is_on = was_on_; }

void OwnOperators::join_activation(double slope) { thread.slope = slope; }

bool OwnOperators::end_joining() {
  thread.slope.reset();
  return std::exchange(thread.has_joined, false);
}

}  // namespace gangway::gan
