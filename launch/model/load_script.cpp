// SPDX-License-Identifier: MIT
#include "launch/model/load_script.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "base/system/trusted_code.hpp"

namespace gangway::launch {
namespace {

/// A network computes: files are none of its business.
constexpr std::array<std::string_view, 2> kReachesFiles{"aten::from_file", "aten::save"};

/// What is wrong with a file that LibTorch has refused with `message`, and the remedy.
std::string why_not_loaded(const std::string& message) {
  if (message.find("maximum supported version") != std::string::npos ||
      message.find("Unknown builtin op") != std::string::npos) {
    return fmt::format(
        "was written by a newer PyTorch than the {} here; write it with that one (pip install "
        "torch=={})",
        TORCH_VERSION, TORCH_VERSION);
  }
  const bool is_pickle = message.find("constants.pkl") != std::string::npos;
  const std::string line = message.substr(0, message.find('\n'));
  return fmt::format(
      "is no TorchScript file{}; torch.jit.script(network).save(FILE) writes one "
      "({})",
      is_pickle ? ", but one of torch.save" : "", line.substr(0, line.find(". ")));
}

/// The first operator that opens files; empty: there is none.
std::string file_operator(at::ArrayRef<const torch::jit::Block*> blocks) {
  for (const torch::jit::Block* block : blocks) {
    for (const torch::jit::Node* node : block->nodes()) {
      const std::string name = node->kind().toQualString();
      std::string found = std::ranges::find(kReachesFiles, name) != kReachesFiles.end()
                              ? name
                              : file_operator(node->blocks());
      if (!found.empty()) {
        return found;
      }
    }
  }
  return {};
}

}  // namespace

torch::jit::Module load_script(const std::filesystem::path& file, at::Device device) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) {
    throw ConfigError(
        fmt::format("{}: no such file; give --features a TorchScript network", file.string()));
  }
  require_trusted(file);
  torch::jit::Module module;
  try {
    module = torch::jit::load(file.string(), device);
  } catch (const std::exception& error) {
    throw ConfigError(fmt::format("{}: {}", file.string(), why_not_loaded(error.what())));
  }
  if (const auto method = module.find_method("forward")) {
    const std::shared_ptr<torch::jit::Graph> graph = method->graph()->copy();
    torch::jit::Inline(*graph);
    const torch::jit::Block* all = graph->block();
    if (const std::string name = file_operator(all); !name.empty()) {
      throw ConfigError(
          fmt::format("{}: has the operator {}, which opens files by their names; write it without",
                      file.string(), name));
    }
  }
  return module;
}

}  // namespace gangway::launch
