// SPDX-License-Identifier: MIT
#include "gan/script/script_block.hpp"

#include <utility>

#include "gan/script/called_network.hpp"
#include "gan/script/python_library.hpp"

namespace gangway::gan {
ScriptBlock::ScriptBlock(const ScriptSpec& spec) : Block(ports_of(spec)), script_(spec) {
  script_.try_out(tried_examples(spec, 0));
  for (const LoadedScript::Held& held : script_.parameters()) {
    add(Parameter{.name = held.name, .tensor = held.value, .given = held.value.detach()});
  }
  for (const LoadedScript::Held& held : script_.moving()) {
    const at::Tensor values = held.value.to(at::kFloat);
    add(Statistic{.name = held.name, .running = values.clone(), .momentum = 1.0, .given = values});
    types_.push_back(held.value.scalar_type());
  }
  for (Statistic& one : statistics()) {
    statistics_of_moving_.push_back(&one);
  }
}

at::Tensor ScriptBlock::as_held(std::size_t moving) const {
  return as_held_by_module(statistics_of_moving_[moving]->running, types_[moving]);
}

NamedTensors ScriptBlock::forward(const NamedTensors& in, const ForwardContext& context) {
  const at::Tensor& first = in.at(ports().inputs.front());
  script_.set_training(context.mode == Mode::kTraining);
  std::vector<LoadedScript::Held>& moving = script_.moving();
  for (std::size_t i = 0; i < moving.size(); ++i) {
    LoadedScript::put(moving[i], as_held(i));  // a copy: the module writes to it
  }
  std::vector<at::Tensor> inputs{first};
  for (std::size_t i = 1; i < ports().inputs.size(); ++i) {
    inputs.push_back(in.at(ports().inputs[i]));
  }
  const std::vector<at::Tensor> made = script_.forward(inputs, seed_of_call(context.key));
  if (context.sink != nullptr && context.mode == Mode::kTraining) {
    for (std::size_t i = 0; i < moving.size(); ++i) {
      context.sink->take(*statistics_of_moving_[i], LoadedScript::taken(moving[i]).to(at::kFloat));
    }
  }
  NamedTensors out = in;
  for (std::size_t i = 0; i < ports().outputs.size(); ++i) {
    out = out.with(ports().outputs[i], made.at(i));
  }
  return out;
}

torch::jit::Module ScriptBlock::filled_module() {
  const at::NoGradGuard no_grad;
  std::size_t next = 0;
  for (const Parameter& parameter : parameters()) {
    const at::Tensor values =
        parameter.tensor.detach().to(at::kCPU).clone(at::MemoryFormat::Contiguous);
    LoadedScript::put(script_.parameters()[next++], values.set_requires_grad(true));
  }
  for (std::size_t i = 0; i < script_.moving().size(); ++i) {
    LoadedScript::put(script_.moving()[i], as_held(i).to(at::kCPU));
  }
  script_.set_training(false);
  return script_.module();
}

std::unique_ptr<Block> make_block(const ScriptSpec& spec) {
  if (spec.is_python()) {
    return make_python_block(spec);
  }
  return std::make_unique<ScriptBlock>(spec);
}

}  // namespace gangway::gan
