// SPDX-License-Identifier: MIT
#include "gan/kernels/own_operators.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/ops/batch_norm_native.h>
#include <ATen/ops/conv2d_native.h>
#include <ATen/ops/conv_transpose2d_native.h>
#include <ATen/ops/linear_native.h>
#include <torch/library.h>

#include "gan/kernels/convolution.hpp"
#include "gan/kernels/dense_map.hpp"
#include "gan/kernels/fused_norm.hpp"
#include "gan/kernels/library_warnings.hpp"
#include "gan/kernels/picture_maps.hpp"

namespace gangway::gan {

namespace {

/// State of a thread that LibTorch's dispatcher does not pass to the operators below.
struct Thread {
  Owned owned = Owned::kNothing;
  std::optional<double> slope;  // of the activation that the next norm may apply
  bool has_joined = false;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local Thread thread;

/// Turns Gangway's kernels off while one of them calls LibTorch's operators.
class Paused {
 public:
  Paused() = default;
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;
  ~Paused() { thread.owned = owned_; }

 private:
  Owned owned_ = std::exchange(thread.owned, Owned::kNothing);
};

const std::vector<std::int64_t> kNone{0, 0};
const std::vector<std::int64_t> kUndilated{1, 1};

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

std::optional<at::Tensor> mapped(const at::Tensor& x, const at::Tensor& weight,
                                 const std::optional<at::Tensor>& bias,
                                 const ConvolutionPlaces& places) {
  if (thread.owned == Owned::kNothing || !is_plain(x) || !is_plain(weight) ||
      !is_plain_or_none(bias) || x.dim() != 4 || weight.dim() != 4) {
    return std::nullopt;
  }
  const Paused paused;
  const bool is_of_points = places.is_transposed && x.size(2) == 1 && x.size(3) == 1 &&
                            x.scalar_type() == weight.scalar_type() &&
                            x.size(1) == weight.size(0) && weight.size(2) == weight.size(3) &&
                            places.groups == 1 && places.padding == kNone &&
                            places.output_padding == kNone && places.dilation == kUndilated &&
                            is_bias_of(given(bias), weight.size(1));
  return is_of_points ? map_points(x, weight, given(bias))
                      : convolved(x, weight, given(bias), places);
}

at::Tensor conv2d(const at::Tensor& x, const at::Tensor& weight,
                  const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                  c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, c10::SymInt groups) {
  auto made = mapped(x, weight, bias,
                     {.stride = by_side(stride),
                      .padding = by_side(padding),
                      .dilation = by_side(dilation),
                      .is_transposed = false,
                      .output_padding = kNone,
                      .groups = groups.expect_int()});
  return made ? *std::move(made)
              : at::native::conv2d_symint(x, weight, bias, stride, padding, dilation, groups);
}

at::Tensor conv_transpose2d(const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                            c10::SymIntArrayRef padding, c10::SymIntArrayRef output_padding,
                            c10::SymInt groups, c10::SymIntArrayRef dilation) {
  auto made = mapped(x, weight, bias,
                     {.stride = by_side(stride),
                      .padding = by_side(padding),
                      .dilation = by_side(dilation),
                      .is_transposed = true,
                      .output_padding = by_side(output_padding),
                      .groups = groups.expect_int()});
  return made ? *std::move(made)
              : at::native::conv_transpose2d_symint(x, weight, bias, stride, padding,
                                                    output_padding, groups, dilation);
}

/// Maps in the type of `x`. A hook on the weight would see no gradient, because the kernel adds it.
std::optional<at::Tensor> mapped_densely(const at::Tensor& x, const at::Tensor& weight,
                                         const std::optional<at::Tensor>& bias) {
  if (thread.owned != Owned::kAll || !is_plain(x) || !is_plain(weight) || !is_plain_or_none(bias) ||
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
  if (type == at::kBFloat16 && thread.owned == Owned::kAll && x.is_floating_point()) {
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
  if (thread.owned != Owned::kAll || !is_training || !has(gain) || !has(shift) ||
      has(mean) != has(variance) || !is_plain(x) || !is_plain(*gain) || !is_plain(*shift) ||
      !is_plain_or_none(mean) || !is_plain_or_none(variance) || !can_norm(x, *gain) ||
      shift->scalar_type() != at::kFloat || gain->sizes() != x.sizes().slice(1, 1) ||
      shift->sizes() != gain->sizes() || x.numel() == x.size(1)) {
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

OwnOperators::OwnOperators(Owned owned) : before_(std::exchange(thread.owned, owned)) {
  register_operators();
}

OwnOperators::~OwnOperators() { thread.owned = before_; }

void OwnOperators::join_activation(double slope) { thread.slope = slope; }

bool OwnOperators::end_joining() {
  thread.slope.reset();
  return std::exchange(thread.has_joined, false);
}

}  // namespace gangway::gan
