// SPDX-License-Identifier: MIT
#include "python/call/python_block.hpp"

#include <utility>

#include <ATen/ATen.h>

#include "python/call/user_code.hpp"
#include "python/open/process_generator.hpp"

namespace gangway::python {
namespace {

/// Returns a copy of a statistic in its module's type; rounds for integers. Exact up to 2^20, where
/// float32 still separates a mean of equal integers from its neighbours.
at::Tensor as_held_by_module(const at::Tensor& running, at::ScalarType type) {
  return type == at::kFloat ? running.clone(at::MemoryFormat::Contiguous)
                            : running.round().to(type);
}

}  // namespace

PythonBlock::PythonBlock(std::unique_ptr<PythonModule> module)
    : Block(ports_of(module->spec())), module_(std::move(module)) {
  for (const PythonModule::ModuleTensor& held : module_->parameters()) {
    add(gan::Parameter{
        .name = held.name, .tensor = held.value, .given = held.value.detach().clone()});
  }
  for (const PythonModule::ModuleTensor& held : module_->moving()) {
    const at::Tensor values = held.value.detach().to(at::kFloat).clone();
    add(gan::Statistic{
        .name = held.name, .running = values.clone(), .momentum = 1.0, .given = values});
    types_.push_back(held.value.scalar_type());
  }
  for (gan::Statistic& one : statistics()) {
    statistics_of_moving_.push_back(&one);
  }
}

std::vector<at::Tensor> PythonBlock::moving() const {
  std::vector<at::Tensor> copies;
  for (std::size_t i = 0; i < types_.size(); ++i) {
    copies.push_back(as_held_by_module(statistics_of_moving_[i]->running, types_[i]));
  }
  return copies;
}

void PythonBlock::give(const std::vector<at::Tensor>& moved, gan::StatisticSink& sink) const {
  for (std::size_t i = 0; i < types_.size(); ++i) {
    sink.take(*statistics_of_moving_[i], moved[i].to(at::kFloat));
  }
}

void PythonBlock::save(const std::filesystem::path& file) {
  const PythonSpec& spec = module_->spec();
  with_python(spec, [&] {
    module_->be_ready(gan::Mode::kEvaluation, at::kCPU, moving());
    pybind11::list inputs;
    pybind11::list names;
    for (const at::Tensor& one : tried_examples(spec, 0)) {
      names.append(spec.inputs[inputs.size()].name);
      inputs.append(wrapped(one));
    }
    support("save")(module_->module().get(), file.string(), pybind11::tuple(inputs), names);
  });
}

gan::NamedTensors PythonBlock::forward(const gan::NamedTensors& in,
                                       const gan::ForwardContext& context) {
  std::vector<at::Tensor> inputs;
  for (const std::string& name : ports().inputs) {
    inputs.push_back(in.at(name));
  }
  const PythonModule::Called called =
      module_->call(context.mode, inputs, moving(), seed_of_call(context.key), context.derivatives);
  if (context.sink != nullptr && context.mode == gan::Mode::kTraining) {
    give(called.moved, *context.sink);
  }
  gan::NamedTensors out = in;
  for (std::size_t i = 0; i < ports().outputs.size(); ++i) {
    out = out.with(ports().outputs[i], called.made.at(i));
  }
  return out;
}

}  // namespace gangway::python
