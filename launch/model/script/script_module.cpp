// SPDX-License-Identifier: MIT
#include "launch/model/script/script_module.hpp"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "gan/blocks/label_blocks.hpp"
#include "gan/blocks/layer_block.hpp"
#include "gan/blocks/style_blocks.hpp"
#include "launch/model/script/block_scripts.hpp"

namespace gangway::launch {
namespace {

constexpr int kScriptFloat = 6;  // value of c10::ScalarType::Float in TorchScript

torch::jit::Module make_module(const std::string& type) {
  torch::jit::Module module{"__torch__.gangway." + type};
  module.register_attribute("training", c10::BoolType::get(), false);
  return module;
}

/// Registers "norm.weight" as `weight` of the submodule `norm`, created if missing.
void register_tensor(torch::jit::Module& block, const std::string& type, const std::string& name,
                     const at::Tensor& tensor, bool is_statistic) {
  const at::Tensor copy = tensor.detach().contiguous().clone(at::MemoryFormat::Contiguous);
  copy.set_requires_grad(!is_statistic);
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) {
    block.register_parameter(name, copy, is_statistic);
    return;
  }
  const std::string child = name.substr(0, dot);
  if (!block.hasattr(child)) {
    block.register_module(child, make_module(type + "_" + child));
  }
  torch::jit::Module inner = block.attr(child).toModule();
  inner.register_parameter(name.substr(dot + 1), copy, is_statistic);
}

torch::jit::Module block_module(gan::Block& block, std::size_t index) {
  const std::string type = fmt::format("Block{}", index);
  torch::jit::Module module = make_module(type);
  for (const gan::Parameter& parameter : block.parameters()) {
    register_tensor(module, type, parameter.name, parameter.tensor, false);
  }
  for (const gan::Statistic& statistic : block.statistics()) {
    register_tensor(module, type, statistic.name, statistic.running, true);
  }
  if (const auto* layer = dynamic_cast<const gan::StyleLayer*>(&block)) {
    // An attribute, not a buffer: the plain export does not contain it.
    module.register_attribute(kConstantNoise, c10::TensorType::get(),
                              layer->constant_noise(static_cast<std::int32_t>(index), at::kCPU));
  }
  return module;
}

std::string layer_lines(const LayerSpec& spec, const std::string& self) {
  std::string text;
  if (!spec.input_shape.empty()) {
    text += fmt::format("    x = torch.reshape(x, [x.size(0), {}])\n",
                        fmt::join(spec.input_shape, ", "));
  }
  const std::string bias = spec.bias ? self + ".bias" : "None";
  if (spec.kind == LayerKind::kLinear) {
    text += fmt::format("    x = torch.linear(x, {}.weight, {})\n", self, bias);
  } else {
    const char* name = spec.kind == LayerKind::kConvolution ? "conv2d" : "conv_transpose2d";
    text += fmt::format("    x = torch.{0}(x, {1}.weight, {2}, [{3}, {3}], [{4}, {4}])\n", name,
                        self, bias, spec.stride, spec.padding);
  }
  if (spec.batch_norm) {
    text += fmt::format(
        "    x = torch.batch_norm(x, {0}.norm.weight, {0}.norm.bias, {0}.norm.running_mean, "
        "{0}.norm.running_var, self.training, {1}, {2:.10f}, True)\n",
        self, kStatisticMomentum, gan::kNormEpsilon);
  }
  text += activation_line(spec.activation);
  if (spec.dropout > 0.0) {
    text += fmt::format("    x = torch.dropout(x, {:.17}, self.training)\n", spec.dropout);
  }
  if (!spec.output_shape.empty()) {
    text += fmt::format("    x = torch.reshape(x, [x.size(0), {}])\n",
                        fmt::join(spec.output_shape, ", "));
  }
  return text;
}

std::string one_hot(std::int64_t classes) {
  return fmt::format("torch.to(torch.one_hot(labels, {}), {})", classes, kScriptFloat);
}

std::string embedded(std::int64_t classes, const std::string& self) {
  return fmt::format("torch.matmul({}, {}.embedding)", one_hot(classes), self);
}

std::string head_lines(const ProjectionHeadSpec& head, const std::string& self) {
  return fmt::format(
      "    f = torch.reshape(x, [-1, {}, {}])\n"
      "    x = torch.linear(torch.flatten(f, 1), {}.weight, None) + "
      "torch.sum({} * torch.mean(f, [2]), [1], True)\n",
      head.features, head.pixels, self, embedded(head.classes, self));
}

/// Each function writes the blocks of one family and returns nothing for other blocks.
constexpr std::array kWriters{lines_of_residual,    lines_of_transformer, lines_of_spectral,
                              lines_of_translation, lines_of_style,       lines_of_transfer};

std::string block_lines(const gan::Block& block, const std::string& self, double growth) {
  if (const auto* layer = dynamic_cast<const gan::LayerBlock*>(&block)) {
    const LayerSpec& spec = layer->spec();
    // `x` is the next layer's input; a named output is stored for later layers.
    return layer_lines(spec, self) +
           (spec.output == "features" ? "" : fmt::format("    {} = x\n", spec.output));
  }
  if (const auto* labels = dynamic_cast<const gan::LabelConcatenation*>(&block)) {
    return fmt::format("    x = torch.cat([x, {}], 1)\n", one_hot(labels->spec().classes));
  }
  if (const auto* head = dynamic_cast<const gan::ProjectionHead*>(&block)) {
    return head_lines(head->spec(), self);
  }
  if (const auto* embedding = dynamic_cast<const gan::LabelEmbedding*>(&block)) {
    return fmt::format("    x = torch.cat([x, {}], 1)\n",
                       embedded(embedding->spec().classes, self));
  }
  if (const auto* product = dynamic_cast<const gan::LabelProduct*>(&block)) {
    return fmt::format("    x = torch.sum(x * {}, [1], True)\n",
                       embedded(product->spec().classes, self));
  }
  for (const auto lines_of : kWriters) {
    if (std::string lines = lines_of(block, self); !lines.empty()) {
      return lines;
    }
  }
  if (std::string lines = lines_of_progressive(block, self, growth); !lines.empty()) {
    return lines;
  }
  throw ConfigError(
      "this model has a block that cannot be written as TorchScript; export it as .safetensors");
}

}  // namespace

std::string activation_line(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "";
    case Activation::kRelu:
      return "    x = torch.relu(x)\n";
    case Activation::kLeakyRelu:
      return fmt::format("    x = torch.leaky_relu(x, {})\n", gan::kLeakySlope);
    case Activation::kSoftplus:
      return "    x = torch.softplus(x)\n";
    case Activation::kTanh:
      return "    x = torch.tanh(x)\n";
  }
  return "";
}

torch::jit::Module script_of(gan::Network& network, const ModelSpec& model) {
  std::string type = network.name();
  type.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(type.front())));
  torch::jit::Module module = make_module(type);
  const std::string input = network.block(0).ports().inputs.front();
  std::string text = fmt::format("def forward(self, {}: Tensor{}) -> Tensor:\n    x = {}\n", input,
                                 model.classes > 0 ? ", labels: Tensor" : "", input);
  for (std::size_t index = 0; index < network.num_blocks(); ++index) {
    const std::string name = std::to_string(index);
    module.register_module(name, block_module(network.block(index), index));
    text += block_lines(network.block(index), fmt::format("getattr(self, \"{}\")", name),
                        network.growth());
  }
  text += "    return x\n";
  module.define(text);
  return module;
}

void save_script(const torch::jit::Module& module, const std::filesystem::path& file,
                 const std::map<std::string, std::string>& notes) {
  // Writes a temporary file and links it to its name: the file is never incomplete.
  const std::string unfinished = fmt::format("{}.{}.tmp", file.string(), ::getpid());
  {
    std::ofstream stream(unfinished, std::ios::binary | std::ios::trunc);
    if (!stream) {
      throw EnvironmentError(
          fmt::format("{}: cannot be written: {}", file.string(), std::strerror(errno)));
    }
    const std::unordered_map<std::string, std::string> extra(notes.begin(), notes.end());
    module.save(stream, extra);
    stream.flush();
    if (!stream) {
      (void)::unlink(unfinished.c_str());
      throw EnvironmentError(
          fmt::format("{}: cannot be written: is the disk full?", file.string()));
    }
  }
  const int error = ::link(unfinished.c_str(), file.c_str()) == 0 ? 0 : errno;
  (void)::unlink(unfinished.c_str());
  if (error != 0) {
    throw EnvironmentError(fmt::format("{}: {}{}", file.string(), std::strerror(error),
                                       error == EEXIST ? "; choose another name" : ""));
  }
}

}  // namespace gangway::launch
