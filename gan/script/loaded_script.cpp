// SPDX-License-Identifier: MIT
#include "gan/script/loaded_script.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "base/system/trusted_code.hpp"
#include "gan/script/called_network.hpp"
#include "gan/script/process_generator.hpp"
#include "gan/script/refused_operators.hpp"
#include "job/models/script_network.hpp"
#include "job/modules/module_files.hpp"

namespace gangway::gan {
namespace {

/// The line of LibTorch's message that says what is wrong, without its traces.
std::string cause_of(const std::string& message) {
  std::string first;
  std::string cause;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) {
      first = line;
    }
    if (line.find("Error: ") != std::string::npos) {
      cause = line;
    }
  }
  return cause.empty() ? first : cause;
}

/// The others tell of what might have happened elsewhere.
std::string first_sentence(const std::string& text) { return text.substr(0, text.find(". ")); }

/// What a call made: its tensor, or those of its tuple or list. Nothing else counts.
std::vector<at::Tensor> tensors_in(const c10::IValue& made) {
  if (made.isTensor()) {
    return {made.toTensor()};
  }
  std::vector<at::Tensor> tensors;
  if (made.isTensorList()) {
    tensors = made.toTensorVector();
  } else if (made.isTuple()) {
    for (const c10::IValue& one : made.toTupleRef().elements()) {
      if (!one.isTensor()) {
        return {};
      }
      tensors.push_back(one.toTensor());
    }
  }
  return tensors;
}

/// "[2, 1] Float", "3 tensors, the first [2, 64, 8, 8] Float", or what it is instead: "Int".
std::string made_text(const c10::IValue& made) {
  const std::vector<at::Tensor> tensors = tensors_in(made);
  if (tensors.empty()) {
    return made.tagKind();
  }
  const std::string first = shape_text(tensors.front());
  return made.isTensor() ? first : fmt::format("{} tensors, the first {}", tensors.size(), first);
}

}  // namespace

std::string why_not_loaded(const std::string& message) {
  if (message.find("maximum supported version") != std::string::npos ||
      message.find("Unknown builtin op") != std::string::npos) {
    return fmt::format(
        "was written by a newer PyTorch than the {} here; write it with that one (pip install "
        "torch=={})",
        TORCH_VERSION, TORCH_VERSION);
  }
  const bool is_pickle = message.find("constants.pkl") != std::string::npos;
  return fmt::format(
      "{}; torch.jit.script(network).save(FILE) writes one ({})",
      is_pickle ? "is no TorchScript file, but one of torch.save" : "is no TorchScript file",
      first_sentence(cause_of(message)));
}

void LoadedScript::refuse(const std::string& what) const {
  throw ConfigError(fmt::format("{}: {}: {}", spec_.key, spec_.file, what));
}

LoadedScript::LoadedScript(ScriptSpec spec) : spec_(std::move(spec)) {
  require_trusted(spec_.file);
  std::istringstream content(read_module(spec_));
  try {
    module_ = torch::jit::load(content, at::kCPU);
  } catch (const std::exception& error) {
    refuse(why_not_loaded(error.what()));
  }
  const auto method = module_.find_method("forward");
  if (!method) {
    refuse("has no forward; wanted is " + signature_text(spec_));
  }
  const auto& arguments = method->function().getSchema().arguments();  // the first is self
  const auto needed = std::ranges::count_if(
      arguments, [](const c10::Argument& one) { return !one.default_value().has_value(); });
  if (static_cast<std::size_t>(needed) > spec_.inputs.size() + 1 ||
      arguments.size() < spec_.inputs.size() + 1) {
    refuse(fmt::format("forward takes {} tensors, not {}; wanted is {}", arguments.size() - 1,
                       spec_.inputs.size(), signature_text(spec_)));
  }
  find_tensors("", module_);
  if (parameters_.empty()) {
    refuse("has no parameter with requires_grad; was it frozen?");
  }
  module_.train(true);  // all of it, whatever its parts were
}

void LoadedScript::find_tensors(const std::string& prefix, const torch::jit::Module& module) {
  const auto type = module.type();
  for (std::size_t slot = 0; slot < type->numAttributes(); ++slot) {
    if (module._ivalue()->getSlot(slot).isTensor()) {
      add(prefix + type->getAttributeName(slot), module._ivalue(), slot);
    }
  }
  for (const auto& child : module.named_children()) {
    find_tensors(prefix + child.name + ".", child.value);
  }
}

void LoadedScript::add(const std::string& name,
                       const c10::intrusive_ptr<c10::ivalue::Object>& owner, std::size_t slot) {
  const at::Tensor value = owner->getSlot(slot).toTensor();
  if (!value.defined()) {
    return;
  }
  std::vector<Held>& all = value.requires_grad() ? parameters_ : still_;
  for (Held& held : all) {
    if (held.value.numel() == 0 || !held.value.is_alias_of(value)) {
      continue;
    }
    if (!is_same_view(held.value, value)) {
      refuse(fmt::format("{} and {} are different views of one memory", held.name, name));
    }
    held.slots.emplace_back(owner, slot);  // tied: one tensor, trained once
    owner->setSlot(slot, held.value);
    return;
  }
  if (value.requires_grad() && (value.scalar_type() != at::kFloat || !value.is_leaf())) {
    refuse(fmt::format("parameter {} is {}; parameters are float32", name, shape_text(value)));
  }
  all.push_back({name, value, {{owner, slot}}});
}

void LoadedScript::set_training(bool is_training) {
  if (is_training != is_training_) {
    module_.train(is_training);
    is_training_ = is_training;
  }
}

void LoadedScript::put(const Held& held, const at::Tensor& value) {
  for (const auto& [owner, slot] : held.slots) {
    owner->setSlot(slot, value);
  }
}

at::Tensor LoadedScript::taken(const Held& held) {
  return held.slots.front().first->getSlot(held.slots.front().second).toTensor().detach();
}

c10::IValue LoadedScript::call(const std::vector<at::Tensor>& inputs, std::uint64_t seed) {
  // Not under the generator's lock: where tests play a device, an operator waits for what its
  // stream has in front of it, and that may wait for another thread's call.
  std::vector<c10::IValue> given;
  std::ranges::transform(inputs, std::back_inserter(given),
                         [](const at::Tensor& input) { return at::alias(input); });
  try {
    const SeededGenerator drawn_from(inputs.front().device(), seed);
    const torch::jit::GraphOptimizerEnabledGuard without_optimisation(false);
    return module_.forward(std::move(given));
  } catch (const std::exception& error) {
    refuse(fmt::format("{} fails: {}; wanted is {}", call_text(inputs), cause_of(error.what()),
                       signature_text(spec_)));
  }
}

std::vector<at::Tensor> LoadedScript::call_and_check(const std::vector<at::Tensor>& inputs,
                                                     std::uint64_t seed) {
  const c10::IValue made = call(inputs, seed);
  std::vector<at::Tensor> tensors = in_float32(tensors_in(made));
  if (!is_as_wanted(tensors, made.isTensor(), spec_, inputs.front().size(0))) {
    refuse(fmt::format("{} makes {}; wanted is {}", call_text(inputs), made_text(made),
                       signature_text(spec_)));
  }
  return tensors;
}

std::vector<at::Tensor> LoadedScript::find_moving(const std::vector<at::Tensor>& inputs) {
  std::vector<Held> candidates = std::exchange(still_, {});
  std::vector<bool> moves(candidates.size());
  for (const Held& held : candidates) {
    put(held, held.value.clone());
  }
  std::vector<at::Tensor> first;
  for (int call = 1, last_found = 0; call <= std::clamp(4 * last_found, 2, kMostTried); ++call) {
    std::vector<at::Tensor> before;
    std::vector<std::pair<at::Tensor, std::int64_t>> as_before;  // values and version
    for (const Held& held : candidates) {
      before.push_back(taken(held));
      as_before.emplace_back(before.back().clone(), before.back()._version());
    }
    std::vector<at::Tensor> made = call_and_check(inputs, static_cast<std::uint64_t>(call));
    if (call == 1) {
      first = std::move(made);
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const at::Tensor now = taken(candidates[i]);
      // Written is enough: what came out the same may be another the next time. BatchNorm on a CPU
      // writes without telling.
      const auto& [values, version] = as_before[i];
      if (!moves[i] && (!now.is_alias_of(before[i]) || now._version() != version ||
                        now.sizes() != values.sizes() || !now.equal(values))) {
        require_carried(candidates[i], now);
        moves[i] = true;
        last_found = call;
      }
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    put(candidates[i], candidates[i].value);
    (moves[i] ? moving_ : still_).push_back(std::move(candidates[i]));
  }
  return first;
}

std::vector<at::Tensor> LoadedScript::call_as_first(const std::vector<at::Tensor>& inputs) {
  for (const Held& held : moving_) {
    put(held, held.value.clone());
  }
  return call_and_check(inputs, kFirstSeed);
}

void LoadedScript::require_carried(const Held& held, const at::Tensor& now) const {
  if (!can_be_averaged(now.scalar_type()) || now.sizes() != held.value.sizes()) {
    refuse(
        fmt::format("forward changes {}, which is {}: only float32 and whole numbers of one "
                    "shape can be carried from step to step",
                    held.name, shape_text(held.value)));
  }
}

void LoadedScript::require_equal(const std::vector<at::Tensor>& first,
                                 const std::vector<at::Tensor>& second) const {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!at::equal(first[i].detach().nan_to_num(), second[i].detach().nan_to_num())) {
      refuse(
          "forward makes other numbers of the same input when it is called again with the same "
          "buffers and random numbers: what it keeps from call to call has to be a buffer "
          "(register_buffer), no list or dictionary, and what it draws has to come from torch's "
          "own "
          "generator");
    }
  }
}

void LoadedScript::try_out(const std::vector<at::Tensor>& inputs) {
  require_deterministic(DeviceKind::kCpu);  // the other devices' words are for the job's own
  const auto version = [](const auto& tensor) { return tensor._version(); };
  std::vector<std::int64_t> of_inputs;
  std::ranges::transform(inputs, std::back_inserter(of_inputs), version);
  std::vector<std::int64_t> of_parameters;
  std::ranges::transform(parameters_, std::back_inserter(of_parameters), version, &Held::value);
  set_training(true);
  std::vector<at::Tensor> first = find_moving(inputs);
  std::ranges::transform(still_, std::back_inserter(versions_), version, &Held::value);
  if (!first.front().requires_grad()) {
    refuse("what forward makes has no gradient to any parameter");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]._version() != of_inputs[i]) {
      refuse("forward writes to its " + spec_.inputs[i].name + "; let it make a new tensor");
    }
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Held& held = parameters_[i];
    if (held.value._version() != of_parameters[i] || !taken(held).is_alias_of(held.value)) {
      refuse(fmt::format("forward writes to the parameter {}", held.name));
    }
  }
  require_equal(first, call_as_first(inputs));
  set_training(false);
  {
    const at::NoGradGuard no_grad;
    first = call_as_first(inputs);
    require_equal(first, call_as_first(inputs));
  }
  set_training(true);
  require_still();
}

void LoadedScript::require_deterministic(DeviceKind device) const {
  if (const std::string why = refused_operator(module_, device); !why.empty()) {
    refuse(why);
  }
}

void LoadedScript::require_still() const {
  for (std::size_t i = 0; i < still_.size(); ++i) {
    const Held& held = still_[i];
    if (held.value._version() != versions_[i] || !taken(held).is_alias_of(held.value)) {
      refuse(
          fmt::format("forward changes {}, which it did not in the first training steps that were "
                      "tried: what is carried from step to step has to be written in every one, "
                      "and not in evaluation alone",
                      held.name));
    }
  }
}

std::vector<at::Tensor> LoadedScript::forward(const std::vector<at::Tensor>& inputs,
                                              std::uint64_t seed) {
  for (std::size_t i = 0; i < still_.size(); ++i) {
    Held& held = still_[i];
    if (held.value.device() != inputs.front().device()) {  // once, where a GPU computes
      held.value = held.value.to(inputs.front().device());
      put(held, held.value);
      versions_[i] = held.value._version();
    }
  }
  const c10::IValue made = call(inputs, seed);
  require_still();
  return tensors_in(made);
}

}  // namespace gangway::gan
