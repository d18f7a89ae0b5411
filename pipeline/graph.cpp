// SPDX-License-Identifier: MIT
#include "pipeline/graph.hpp"

#include <algorithm>
#include <map>

#include "base/errors.hpp"

namespace gangway::pipeline {
namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

std::vector<std::string> tensors_of(const std::vector<Input>& inputs) {
  std::vector<std::string> names;
  for (const Input& input : inputs) {
    names.push_back(input.tensor);
  }
  return names;
}

/// Returns the node that makes each tensor. Checks that an earlier node makes every input.
std::map<std::string, std::size_t> makers_of(const Pass& pass) {
  std::map<std::string, std::size_t> makers;
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    for (const std::string& input : inputs_of(pass.nodes[i])) {
      if (!makers.contains(input)) {
        throw InvariantError("pass " + pass.name + ": no node before number " + std::to_string(i) +
                             " makes " + input);
      }
    }
    for (const std::string& output : outputs_of(pass.nodes[i])) {
      if (!makers.emplace(output, i).second) {
        throw InvariantError("pass " + pass.name + ": two nodes make " + output);
      }
    }
  }
  return makers;
}

/// Whether `node` is a part of a penalty. Such parts take each other's gradients.
bool is_penalty_part(const Node& node) {
  const auto* penalty = std::get_if<Penalty>(&node);
  return penalty != nullptr && penalty->part;
}

bool is_trained(const Node& node, const std::vector<NetworkId>& trained) {
  const auto* application = std::get_if<Application>(&node);
  return is_penalty_part(node) ||
         (application != nullptr &&
          std::ranges::find(trained, application->network) != trained.end());
}

std::vector<std::string> made_by(const Penalty& penalty) {
  if (!penalty.part) {
    return {};
  }
  std::vector<std::string> names = tensors_of(penalty.part->makes);
  if (!penalty.part->value.empty()) {
    names.push_back(penalty.part->value);
  }
  return names;
}

bool is_detached(const Node& node) {
  const auto* join = std::get_if<Join>(&node);
  return std::holds_alternative<Pool>(node) || (join != nullptr && join->function == kDetached);
}

}  // namespace

std::vector<std::string> inputs_of(const Node& node) {
  using Names = std::vector<std::string>;
  return std::visit(
      Overloaded{[](const Draw&) { return Names{}; }, [](const Reals&) { return Names{}; },
                 [](const Running&) { return Names{}; },
                 [](const StylePicture&) { return Names{}; },
                 [](const Join& join) { return join.inputs; },
                 [](const Pool& pool) { return Names{pool.input}; },
                 [](const Augment& augment) {
                   return augment.strength.empty() ? Names{augment.input}
                                                   : Names{augment.strength, augment.input};
                 },
                 [](const Loss& loss) { return loss.inputs; },
                 [](const Shown& shown) { return Names{shown.input}; },
                 [](const auto& with_network) { return tensors_of(with_network.inputs); }},
      node);
}

std::vector<std::string> outputs_of(const Node& node) {
  using Names = std::vector<std::string>;
  return std::visit(
      Overloaded{[](const Reals& reals) {
                   return Names{reals.images, reals.labels};
                 },
                 [](const Loss&) { return Names{}; }, [](const Shown&) { return Names{}; },
                 [](const Penalty& penalty) { return made_by(penalty); },
                 [](const Application& application) {
                   return application.levels.empty() ? Names{application.output}
                                                     : application.levels;
                 },
                 [](const auto& maker) { return Names{maker.output}; }},
      node);
}

std::vector<bool> gradient_flow(const Pass& pass, const std::vector<NetworkId>& trained) {
  const std::map<std::string, std::size_t> makers = makers_of(pass);
  std::vector<bool> depends(pass.nodes.size());  // on trained weights
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    const std::vector<std::string> inputs = inputs_of(pass.nodes[i]);
    depends[i] =
        is_trained(pass.nodes[i], trained) ||
        (!is_detached(pass.nodes[i]) && std::ranges::any_of(inputs, [&](const std::string& input) {
          return depends[makers.at(input)];
        }));
  }
  std::vector<bool> matters(pass.nodes.size());  // to a loss
  for (std::size_t i = pass.nodes.size(); i-- > 0;) {
    if (matters[i] || std::holds_alternative<Loss>(pass.nodes[i]) ||
        is_penalty_part(pass.nodes[i])) {
      matters[i] = true;
      for (const std::string& input : inputs_of(pass.nodes[i])) {
        matters[makers.at(input)] = matters[makers.at(input)] || !is_detached(pass.nodes[i]);
      }
    }
  }
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    matters[i] = matters[i] && depends[i];
  }
  return matters;
}

bool wants_input_gradient(const Pass& pass, const Application& application) {
  for (std::size_t before = 0; before < pass.nodes.size(); ++before) {
    for (const std::string& made : outputs_of(pass.nodes[before])) {
      if (pass.has_gradient[before] &&
          std::ranges::any_of(application.inputs,
                              [&](const Input& input) { return input.tensor == made; })) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace gangway::pipeline
