// SPDX-License-Identifier: MIT
#include "gan/evaluation/likeness.hpp"

namespace gangway::gan {
namespace {

constexpr double kRange = 255.0;
constexpr std::int64_t kWindow = 11;
constexpr double kDeviation = 1.5;
constexpr double kFirstConstant = 0.01 * kRange * 0.01 * kRange;
constexpr double kSecondConstant = 0.03 * kRange * 0.03 * kRange;

at::Tensor shades(const at::Tensor& pictures) {
  return (pictures.to(at::kDouble).clamp(-1.0, 1.0) + 1.0) * (kRange / 2.0);
}

/// Returns weighted means over windows, for each channel: [N * C, 1, H, W] → [N * C, 1, H - 10, W -
/// 10].
at::Tensor windowed(const at::Tensor& x) {
  const at::Tensor distance = at::arange(kWindow, x.options()) - static_cast<double>(kWindow / 2);
  at::Tensor line = (-distance.square() / (2.0 * kDeviation * kDeviation)).exp();
  line = line / line.sum();
  return at::conv2d(at::conv2d(x, line.reshape({1, 1, kWindow, 1})),
                    line.reshape({1, 1, 1, kWindow}));
}

}  // namespace

at::Tensor absolute_differences(const at::Tensor& one, const at::Tensor& other) {
  return (shades(one) - shades(other)).abs().flatten(1).mean(1);
}

at::Tensor structural_similarities(const at::Tensor& one, const at::Tensor& other) {
  const auto planes = [](const at::Tensor& pictures) {
    return shades(pictures).reshape({-1, 1, pictures.size(2), pictures.size(3)});
  };
  const at::Tensor x = planes(one);
  const at::Tensor y = planes(other);
  const at::Tensor mean_x = windowed(x);
  const at::Tensor mean_y = windowed(y);
  const at::Tensor variance_x = windowed(x * x) - mean_x * mean_x;
  const at::Tensor variance_y = windowed(y * y) - mean_y * mean_y;
  const at::Tensor covariance = windowed(x * y) - mean_x * mean_y;
  const at::Tensor similarity = (2.0 * mean_x * mean_y + kFirstConstant) *
                                (2.0 * covariance + kSecondConstant) /
                                ((mean_x * mean_x + mean_y * mean_y + kFirstConstant) *
                                 (variance_x + variance_y + kSecondConstant));
  return similarity.reshape({one.size(0), -1}).mean(1);
}

}  // namespace gangway::gan
