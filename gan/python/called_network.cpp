// SPDX-License-Identifier: MIT
#include "gan/python/called_network.hpp"

#include <algorithm>
#include <iterator>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gan/random_tensors.hpp"

namespace gangway::gan {
namespace {

constexpr std::int64_t kTriedExamples = 2;

}  // namespace

std::vector<at::Tensor> tried_examples(const PythonSpec& spec, std::int32_t draw) {
  std::vector<at::Tensor> inputs;
  for (const PythonInput& input : spec.inputs) {
    std::vector<std::int64_t> shape = input.shape;
    shape.insert(shape.begin(), kTriedExamples);
    inputs.push_back(input.has_whole_numbers() ? at::zeros(shape, at::kLong)
                                               : keyed_normal({.draw = draw}, shape, at::kCPU));
  }
  return inputs;
}

std::uint64_t seed_of_call(RandomKey key) {
  key.draw = static_cast<std::int32_t>(RandomDraw::kDropout);
  return KeyedRandom(key).bits(0);
}

at::Tensor as_held_by_module(const at::Tensor& running, at::ScalarType type) {
  return type == at::kFloat ? running.clone(at::MemoryFormat::Contiguous)
                            : running.round().to(type);
}

bool can_be_averaged(at::ScalarType type) {
  return type == at::kFloat || type == at::kBool || at::isIntegralType(type, /*includeBool=*/true);
}

bool is_same_view(const at::Tensor& one, const at::Tensor& other) {
  return one.data_ptr() == other.data_ptr() && one.sizes() == other.sizes() &&
         one.strides() == other.strides();
}

std::vector<at::Tensor> in_float32(std::vector<at::Tensor> made) {
  for (at::Tensor& one : made) {
    if (at::isReducedFloatingType(one.scalar_type())) {
      one = one.to(at::kFloat);
    }
  }
  return made;
}

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("[{}] {}", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "),
                     c10::toString(tensor.scalar_type()));
}

std::string call_text(const std::vector<at::Tensor>& inputs) {
  std::vector<std::string> given;
  std::ranges::transform(inputs, std::back_inserter(given), shape_text);
  return fmt::format("forward of {}", fmt::join(given, " and "));
}

bool is_as_wanted(const std::vector<at::Tensor>& made, bool is_one, const PythonSpec& spec,
                  std::int64_t count) {
  if (made.empty()) {
    return false;
  }
  if (spec.is_free) {
    return true;
  }
  if (spec.levels > 0) {
    return !is_one && made.size() == static_cast<std::size_t>(spec.levels) &&
           std::ranges::all_of(made, [count](const at::Tensor& one) {
             return one.dim() == 4 && one.size(0) == count && one.scalar_type() == at::kFloat;
           });
  }
  std::vector<std::int64_t> wanted = spec.output;
  wanted.insert(wanted.begin(), count);
  return is_one && made.front().sizes() == at::IntArrayRef(wanted) &&
         made.front().scalar_type() == at::kFloat;
}

}  // namespace gangway::gan
