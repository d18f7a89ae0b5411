// SPDX-License-Identifier: MIT
#include "gan/script/refused_operators.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>

namespace gangway::gan {
namespace {

/// Those that, or whose gradients, LibTorch computes on a GPU in an order that nobody decides:
/// the second list in the documentation of torch.use_deterministic_algorithms (PyTorch 2.11), by
/// their names in TorchScript. There a training would end at its first step.
constexpr std::array<std::string_view, 38> kNotDeterministicOnGpus{
    "aten::avg_pool3d",
    "aten::adaptive_avg_pool2d",
    "aten::adaptive_avg_pool3d",
    "aten::max_pool3d",
    "aten::max_pool3d_with_indices",
    "aten::adaptive_max_pool2d",
    "aten::fractional_max_pool2d",
    "aten::fractional_max_pool3d",
    "aten::max_unpool2d",
    "aten::max_unpool3d",
    "aten::upsample_linear1d",
    "aten::upsample_bilinear2d",
    "aten::upsample_bicubic2d",
    "aten::upsample_trilinear3d",
    "aten::_upsample_bilinear2d_aa",
    "aten::_upsample_bicubic2d_aa",
    "aten::reflection_pad1d",
    "aten::reflection_pad2d",
    "aten::reflection_pad3d",
    "aten::nll_loss",
    "aten::nll_loss_nd",
    "aten::nll_loss2d",
    "aten::cross_entropy_loss",
    "aten::ctc_loss",
    "aten::embedding_bag",
    "aten::put",
    "aten::put_",
    "aten::histc",
    "aten::bincount",
    "aten::median",
    "aten::nanmedian",
    "aten::grid_sampler",
    "aten::grid_sampler_2d",
    "aten::grid_sampler_3d",
    "aten::cumsum",
    "aten::cumsum_",
    "aten::scatter_reduce",
    "aten::scatter_reduce_",
};

/// Threads of LibTorch's own would draw random numbers in any order.
constexpr std::array<std::string_view, 4> kNotDeterministicAnywhere{
    "prim::fork", "aten::wait", "prim::awaitable", "aten::seed"};

/// A network computes: files are none of its business.
constexpr std::array<std::string_view, 2> kReachesFiles{"aten::from_file", "aten::save"};

std::optional<std::string> text_of(const torch::jit::Value* value) {
  const std::optional<c10::IValue> constant = torch::jit::toIValue(value);
  return constant && constant->isString() ? std::optional(constant->toStringRef()) : std::nullopt;
}

std::string why_refused(const torch::jit::Node& node, DeviceKind device) {
  const std::string name = node.kind().toQualString();
  if (std::ranges::find(kNotDeterministicAnywhere, name) != kNotDeterministicAnywhere.end()) {
    return fmt::format("has the operator {}, which gives other bits from call to call", name);
  }
  // An object that the call has made, as torch.no_grad() is one, goes with it.
  if (node.kind() == c10::prim::SetAttr &&
      node.input(0)->node()->kind() != c10::prim::CreateObject &&
      !node.inputs().back()->type()->isSubtypeOf(*c10::TensorType::get())) {
    return fmt::format(
        "sets self.{}, which is no tensor and would be lost; keep it in a buffer "
        "(register_buffer)",
        node.s(c10::attr::name));
  }
  if (device == DeviceKind::kCpu) {
    return {};
  }
  const bool pads_by_reflection = node.kind() == c10::aten::pad && node.inputs().size() > 2 &&
                                  text_of(node.input(2)).value_or("reflect") == "reflect";
  if (pads_by_reflection ||
      std::ranges::find(kNotDeterministicOnGpus, name) != kNotDeterministicOnGpus.end()) {
    return fmt::format(
        "has the operator {}{}, which is not deterministic on GPUs; use numerics.device cpu, or "
        "another operator",
        name, pads_by_reflection ? " with reflection" : "");
  }
  return {};
}

std::string first_refused(at::ArrayRef<const torch::jit::Block*> blocks, DeviceKind device) {
  for (const torch::jit::Block* block : blocks) {
    for (const torch::jit::Node* node : block->nodes()) {
      std::string why = why_refused(*node, device);
      if (why.empty()) {
        why = first_refused(node->blocks(), device);
      }
      if (!why.empty()) {
        return why;
      }
    }
  }
  return {};
}

std::string first_file_operator(at::ArrayRef<const torch::jit::Block*> blocks) {
  for (const torch::jit::Block* block : blocks) {
    for (const torch::jit::Node* node : block->nodes()) {
      const std::string name = node->kind().toQualString();
      std::string why =
          std::ranges::find(kReachesFiles, name) != kReachesFiles.end()
              ? fmt::format("has the operator {}, which opens files by their names", name)
              : first_file_operator(node->blocks());
      if (!why.empty()) {
        return why;
      }
    }
  }
  return {};
}

std::shared_ptr<torch::jit::Graph> inlined(const torch::jit::Module& module) {
  std::shared_ptr<torch::jit::Graph> graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

}  // namespace

std::string file_operator(const torch::jit::Module& module) {
  const std::shared_ptr<torch::jit::Graph> graph = inlined(module);
  const torch::jit::Block* all = graph->block();
  return first_file_operator(all);
}

std::string refused_operator(const torch::jit::Module& module, DeviceKind device) {
  if (std::string why = file_operator(module); !why.empty()) {
    return why;
  }
  std::shared_ptr<torch::jit::Graph> graph = inlined(module);
  // What has constants alone is run here.
  torch::jit::ConstantPropagation(graph);  // an `if` on a mode that is a constant leaves one branch
  torch::jit::EliminateDeadCode(graph);
  const torch::jit::Block* all = graph->block();
  return first_refused(all, device);
}

}  // namespace gangway::gan
