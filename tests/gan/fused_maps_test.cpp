// SPDX-License-Identifier: MIT
// Fused operators on maps. Their kernels' arithmetic is compiled for the host, and compared with
// LibTorch's operators: bit for bit if those have one order of rounding.
#include "gan/fused_maps.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "gan/blocks/equalized_maps.hpp"
#include "gan/blocks/residual_blocks.hpp"
#include "gan/device_maps.hpp"
#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

thread_local bool t_is_fused = false;

/// Makes this thread's maps count as a device's during its lifetime.
struct OnDevice {
  OnDevice() { t_is_fused = true; }
  ~OnDevice() { t_is_fused = false; }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
};

template <typename Value>
Value* values_of(const at::Tensor& x) {
  return static_cast<Value*>(x.mutable_data_ptr());
}

/// Calls `body` with a value of the maps' type.
template <typename Body>
void with_type_of(const at::Tensor& x, const Body& body) {
  x.scalar_type() == at::kBFloat16 ? body(cuda::Bfloat16{}) : body(float{});
}

}  // namespace

bool has_kernels_for(const at::Tensor& /*x*/) { return t_is_fused; }

void activate_on_device(const cuda::Activation& activation, const at::Tensor& x,
                        const at::Tensor& bias, const at::Tensor& out) {
  with_type_of(x, [&](auto value) {
    using Value = decltype(value);
    for (std::int64_t i = 0; i < activation.elements; ++i) {
      cuda::activate_element(activation, values_of<Value>(x),
                             bias.defined() ? bias.const_data_ptr<float>() : nullptr, i,
                             values_of<Value>(out));
    }
  });
}

void activate_gradient_on_device(const cuda::Activation& activation, const at::Tensor& gradient,
                                 const at::Tensor& y, const at::Tensor& out) {
  with_type_of(y, [&](auto value) {
    using Value = decltype(value);
    for (std::int64_t i = 0; i < activation.elements; ++i) {
      cuda::activate_gradient_element(activation, values_of<Value>(gradient), values_of<Value>(y),
                                      i, values_of<Value>(out));
    }
  });
}

void resample_on_device(const cuda::Resampled& to, const at::Tensor& x, const at::Tensor& out) {
  with_type_of(x, [&](auto value) {
    using Value = decltype(value);
    for (std::int64_t i = 0; i < to.elements(); ++i) {
      cuda::resample_element(to, values_of<Value>(x), i, values_of<Value>(out));
    }
  });
}

namespace {

constexpr auto kFormats = {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast};

at::Tensor drawn(at::IntArrayRef shape, std::int32_t number, at::MemoryFormat format) {
  at::Tensor x = keyed_normal({.seed = 3, .draw = number}, shape, at::kCPU);
  return x.dim() == 4 ? x.contiguous(format) : x;
}

/// Small integers: sums of their products with the filter's taps are exact in any order.
at::Tensor integers(at::IntArrayRef shape, std::int32_t number, at::MemoryFormat format) {
  return (drawn(shape, number, format) * 3.0).round();
}

/// Value, both gradients, and a penalty's second-order gradient of x.
struct Derived {
  at::Tensor value;
  at::Tensor by_x;
  at::Tensor by_bias;
  at::Tensor of_penalty;
};
Derived derived(const at::Tensor& start, const at::Tensor& bias_start) {
  const at::Tensor x = start.detach().clone().requires_grad_();
  const at::Tensor bias = bias_start.detach().clone().requires_grad_();
  // A clone, because the plain operator writes to its argument.
  const at::Tensor value = style_activated(x.clone(), bias);
  const at::Tensor seen = drawn(value.sizes(), 9, value.suggest_memory_format());
  const auto first = torch::autograd::grad({value}, {x, bias}, {seen * value}, true, true);
  const auto second = torch::autograd::grad({first[0].square().sum()}, {x}, {}, true);
  return {value.detach(), first[0].detach(), first[1].detach(), second[0]};
}

TEST(FusedActivation, HasTheBitsOfTheOperatorsAndOfTheirFirstDerivative) {
  for (const at::MemoryFormat format : kFormats) {
    const at::Tensor x = drawn({3, 5, 6, 4}, 1, format);
    const at::Tensor bias = drawn({5}, 2, format);
    const Derived plain = derived(x, bias);
    const OnDevice on_device;
    const Derived fused = derived(x, bias);
    EXPECT_TRUE(fused.value.equal(plain.value));
    EXPECT_EQ(fused.value.strides(), plain.value.strides());
    EXPECT_TRUE(fused.by_x.equal(plain.by_x));
    EXPECT_TRUE(fused.by_bias.allclose(plain.by_bias, 1e-6, 1e-6));
    // LibTorch's operators multiply both factors in the other order.
    EXPECT_TRUE(fused.of_penalty.allclose(plain.of_penalty, 1e-6, 1e-6));
  }
}

TEST(FusedActivation, TakesRowsAndNoBias) {
  const at::Tensor x = drawn({7, 9}, 4, at::MemoryFormat::Contiguous);
  const at::Tensor expected = at::leaky_relu(x, 0.2) * M_SQRT2;
  const OnDevice on_device;
  EXPECT_TRUE(fused_activation(x, std::nullopt, 0.2, M_SQRT2).equal(expected));
  EXPECT_TRUE(style_activated(x.t().contiguous()).equal(expected.t()));
}

TEST(FusedActivation, RoundsToBfloat16Once) {
  const at::Tensor x = drawn({2, 3, 5, 5}, 5, at::MemoryFormat::Contiguous).to(at::kBFloat16);
  const at::Tensor bias = drawn({3}, 6, at::MemoryFormat::Contiguous);
  const at::Tensor exact =
      at::leaky_relu(x.to(at::kFloat) + bias.reshape({1, 3, 1, 1}), 0.2) * M_SQRT2;
  const OnDevice on_device;
  const at::Tensor fused = fused_activation(x, bias, 0.2, M_SQRT2);
  EXPECT_TRUE(fused.equal(exact.to(at::kBFloat16)));
}

/// Applies all resamplings of the blocks.
std::vector<at::Tensor> resampled_in_all_ways(const at::Tensor& x) {
  return {upsampled(x), downsampled(x), smoothed(x, 1, 4.0), smoothed(x, 2)};
}

TEST(FusedResampling, IsTheConvolutionWithTheFilter) {
  for (const at::MemoryFormat format : kFormats) {
    const at::Tensor x = integers({2, 3, 6, 8}, 1, format);
    const std::vector<at::Tensor> plain = resampled_in_all_ways(x);
    const OnDevice on_device;
    const std::vector<at::Tensor> fused = resampled_in_all_ways(x);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(fused[i].equal(plain[i])) << i;
      EXPECT_TRUE(fused[i].is_contiguous(format)) << i;
    }
  }
}

TEST(FusedResampling, HasTheConvolutionsDerivatives) {
  for (const at::MemoryFormat format : kFormats) {
    const auto derivatives = [&] {
      const at::Tensor x = integers({2, 3, 6, 8}, 1, format).requires_grad_();
      std::vector<at::Tensor> found;
      for (const at::Tensor& y : resampled_in_all_ways(x)) {
        const at::Tensor seen = integers(y.sizes(), 2, format).requires_grad_();
        const at::Tensor by_x = torch::autograd::grad({y}, {x}, {seen}, true, true).front();
        found.push_back(by_x.detach());
        const at::Tensor other = integers(by_x.sizes(), 3, format);
        found.push_back(torch::autograd::grad({by_x}, {seen}, {other}).front());
      }
      return found;
    };
    const std::vector<at::Tensor> plain = derivatives();
    const OnDevice on_device;
    const std::vector<at::Tensor> fused = derivatives();
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(fused[i].equal(plain[i])) << i;
    }
  }
}

TEST(Bfloat16, RoundsAsLibTorchDoes) {
  for (std::uint64_t word = 0; word <= 0xFFFFFFFFU; word += 9973) {
    float value = 0.0F;
    const auto bits = static_cast<std::uint32_t>(word);
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isnan(value)) {
      ASSERT_EQ(cuda::Bfloat16::of(value).bits, c10::BFloat16(value).x) << word;
      ASSERT_EQ(cuda::Bfloat16::of(value).value(), static_cast<float>(c10::BFloat16(value)));
    }
  }
  EXPECT_EQ(cuda::Bfloat16::of(NAN).bits, 0x7FC0);
}

}  // namespace
}  // namespace gangway::gan
