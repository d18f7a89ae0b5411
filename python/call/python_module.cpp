// SPDX-License-Identifier: MIT
#include "python/call/python_module.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>

#include "base/errors.hpp"
#include "gan/random_tensors.hpp"
#include "job/models/python_network.hpp"
#include "python/call/user_code.hpp"
#include "python/open/process_generator.hpp"

namespace gangway::python {
namespace {

namespace py = pybind11;

constexpr std::int64_t kTriedExamples = 2;

/// Adds all tensors nested in tuples, lists and dicts. @return whether there is nothing else
bool add_tensors(const py::handle& made, std::vector<at::Tensor>& tensors) {
  if (const auto one = unwrapped(made)) {
    tensors.push_back(*one);
    return true;
  }
  if (py::isinstance<py::dict>(made)) {
    return add_tensors(py::list(made.attr("values")()), tensors);
  }
  if (!py::isinstance<py::tuple>(made) && !py::isinstance<py::list>(made)) {
    return false;
  }
  bool are_all = true;
  for (const py::handle item : made) {
    are_all = add_tensors(item, tensors) && are_all;
  }
  return are_all;
}

/// Returns the tensors that a call returned. Other objects may be among them if only the user's
/// step reads the result.
std::vector<at::Tensor> tensors_in(const py::object& made, const PythonSpec& spec) {
  std::vector<at::Tensor> tensors;
  const bool are_all = add_tensors(made, tensors);
  return are_all || spec.is_free ? tensors : std::vector<at::Tensor>{};
}

/// Returns "[2, 1] float32", "3 tensors, the first [2, 64, 8, 8] float32", or another type: "dict".
std::string made_text(const py::object& made, const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) {
    return Py_TYPE(made.ptr())->tp_name;
  }
  const std::string first = shape_text(tensors.front());
  return unwrapped(made) ? first : fmt::format("{} tensors, the first {}", tensors.size(), first);
}

void put(const PythonModule::ModuleTensor& held, const at::Tensor& value) {
  const py::object object = wrapped(value);
  for (const auto& [owner, key] : held.slots) {
    owner.get()[key.get()] = object;
  }
}

at::Tensor taken(const PythonModule::ModuleTensor& held) {
  const auto& [owner, key] = held.slots.front();
  const auto found = unwrapped(owner.get()[key.get()]);
  return found ? found->detach() : at::Tensor();
}

/// Wraps the inputs so that the module's changes of strides or requires_grad_ do not reach the
/// caller's tensors. Versions are shared, so a module that writes to an input is found.
py::tuple arguments_of(const std::vector<at::Tensor>& inputs) {
  py::tuple arguments(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arguments[i] = wrapped(at::alias(inputs[i]));
  }
  return arguments;
}

/// Returns whether both are the same view. Different views of shared memory cannot be trained
/// apart.
bool is_same_view(const at::Tensor& one, const at::Tensor& other) {
  return one.data_ptr() == other.data_ptr() && one.sizes() == other.sizes() &&
         one.strides() == other.strides();
}

/// Converts a call's 16-bit results of autocast to float32 (numerics.precision).
std::vector<at::Tensor> in_float32(std::vector<at::Tensor> made) {
  for (at::Tensor& one : made) {
    if (at::isReducedFloatingType(one.scalar_type())) {
      one = one.to(at::kFloat);
    }
  }
  return made;
}

/// Returns e.g. "forward of [2, 100] float32 and [2] int64".
std::string call_text(const std::vector<at::Tensor>& inputs) {
  std::vector<std::string> given;
  std::ranges::transform(inputs, std::back_inserter(given), shape_text);
  return fmt::format("forward of {}", fmt::join(given, " and "));
}

/// Returns whether a call made the tensors of the spec. @param is_one  no tuple or list
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

}  // namespace

std::vector<at::Tensor> tried_examples(const PythonSpec& spec, std::int32_t draw) {
  std::vector<at::Tensor> inputs;
  for (const PythonInput& input : spec.inputs) {
    std::vector<std::int64_t> shape = input.shape;
    shape.insert(shape.begin(), kTriedExamples);
    inputs.push_back(input.has_whole_numbers()
                         ? at::zeros(shape, at::kLong)
                         : gan::keyed_normal({.draw = draw}, shape, at::kCPU));
  }
  return inputs;
}

std::string shape_text(const at::Tensor& tensor) {
  return fmt::format("[{}] {}", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "),
                     torch::getTHPDtype(tensor.scalar_type())->name);
}

void PythonModule::refuse(const std::string& what) const { python::refuse(spec_, what); }

PythonModule::PythonModule(PythonSpec spec)
    : spec_(std::move(spec)), place_(with_python(spec_, [this] { return Kept(place_of(spec_)); })) {
  module_ = construct();
  call_first(module_);
  find_tensors();
  if (parameters_.empty()) {
    refuse("has no parameter with requires_grad");
  }
  require_repeated();
}

Kept PythonModule::construct() const {
  const SeededGenerator drawn_from(at::kCPU, spec_.seed);
  return with_python(spec_, [this] {
    return Kept(support("construct")(*place_.get(), spec_.arguments, spec_.seed));
  });
}

void PythonModule::call_first(const Kept& network) const {
  const std::vector<at::Tensor> inputs = tried_examples(spec_, 0);
  const SeededGenerator drawn_from(at::kCPU, spec_.seed);
  try {
    with_python(spec_,
                [&] { support("call_first")(network.get(), arguments_of(inputs), spec_.seed); });
  } catch (const ConfigError& error) {
    if (!spec_.is_free) {
      throw;
    }
    throw ConfigError(
        fmt::format("{} ({} was tried; `takes` of the step's class says what else it takes)",
                    error.what(), call_text(inputs)));
  }
}

void PythonModule::require_repeated() const {
  const Kept again = construct();
  call_first(again);
  const std::string other = with_python(spec_, [&]() -> std::string {
    return py::str(support("first_other")(module_.get(), again.get()));
  });
  if (!other.empty()) {
    refuse(
        fmt::format("{} begins with other numbers when it is made again under the same seed: what "
                    "draws its first values has to be torch, random or numpy.random",
                    other));
  }
}

void PythonModule::find_tensors() {
  with_python(spec_, [this] {
    for (const py::handle found : support("tensors")(module_.get())) {
      const auto row = py::reinterpret_borrow<py::tuple>(found);
      add(row[0].cast<std::string>(), *unwrapped(row[1]),
          {Kept(row[2].cast<py::object>()), Kept(row[3].cast<py::object>())});
    }
  });
}

void PythonModule::add(const std::string& name, const at::Tensor& value,
                       std::pair<Kept, Kept> slot) {
  std::vector<ModuleTensor>& all = value.requires_grad() ? parameters_ : moving_;
  for (ModuleTensor& held : all) {
    if (held.value.numel() == 0 || !held.value.is_alias_of(value)) {
      continue;
    }
    if (!is_same_view(held.value, value)) {
      refuse(fmt::format("{} and {} are different views of one memory", held.name, name));
    }
    held.slots.push_back(std::move(slot));  // tied: one tensor, trained once
    return;
  }
  if (value.requires_grad() && (value.scalar_type() != at::kFloat || !value.is_leaf())) {
    refuse(fmt::format("parameter {} is {}; parameters are float32", name, shape_text(value)));
  }
  ModuleTensor held{.name = name, .value = value};
  held.slots.push_back(std::move(slot));
  all.push_back(std::move(held));
}

void PythonModule::keep_moving(const std::vector<bool>& moves) {
  std::vector<ModuleTensor> all = std::exchange(moving_, {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    (moves[i] ? moving_ : still_).push_back(std::move(all[i]));
  }
  const py::gil_scoped_acquire lock;
  for (const ModuleTensor& held : still_) {
    put(held, held.value);
    versions_.push_back(held.value._version());
  }
}

PythonModule::Called PythonModule::call(gan::Mode mode, const std::vector<at::Tensor>& inputs,
                                        const std::vector<at::Tensor>& moving, std::uint64_t seed,
                                        gan::Derivatives derivatives) {
  const at::Device device = inputs.front().device();
  const SeededGenerator drawn_from(device, seed);
  Called called;
  std::string unlike;
  with_python(spec_, [&] {
    be_ready(mode, device, moving);
    support("seed_others")(seed);
    const OwnKernels kernels(mode == gan::Mode::kTraining ? derivatives : gan::Derivatives::kAll);
    const py::object made = module_.get()(*arguments_of(inputs));
    called.made = in_float32(tensors_in(made, spec_));
    if (!is_as_wanted(called.made, unwrapped(made).has_value(), spec_, inputs.front().size(0))) {
      unlike = made_text(made, called.made);
    }
    called.moved = moved();
  });
  if (!unlike.empty()) {
    refuse(
        fmt::format("{} makes {}; wanted is {}", call_text(inputs), unlike, signature_text(spec_)));
  }
  return called;
}

void PythonModule::be_ready(gan::Mode mode, at::Device device,
                            const std::vector<at::Tensor>& moving) {
  bring_constants(device);
  if (const bool is_training = mode == gan::Mode::kTraining; is_training != is_training_) {
    (void)module_.get().attr("train")(is_training);
    is_training_ = is_training;
  }
  for (std::size_t i = 0; i < moving_.size(); ++i) {
    put(moving_[i], moving[i]);
  }
}

std::vector<at::Tensor> PythonModule::moved() const {
  std::vector<at::Tensor> left;
  for (const ModuleTensor& held : moving_) {
    left.push_back(taken(held));
  }
  require_still();
  return left;
}

void PythonModule::bring_constants(at::Device device) {
  for (std::size_t i = 0; i < still_.size(); ++i) {
    ModuleTensor& held = still_[i];
    if (held.value.device() != device) {  // only once, on a GPU
      held.value = held.value.to(device);
      put(held, held.value);
      versions_[i] = held.value._version();
    }
  }
}

void PythonModule::require_still() const {
  for (std::size_t i = 0; i < still_.size(); ++i) {
    const ModuleTensor& held = still_[i];
    if (held.value._version() != versions_[i] || !taken(held).is_alias_of(held.value)) {
      refuse(fmt::format(
          "forward changes {}, which it did not in the first training steps that were tried: what "
          "is "
          "carried from step to step has to be written in every one, and not in evaluation alone",
          held.name));
    }
  }
}

void PythonModule::note_kept() {
  noted_ = with_python(spec_, [this] { return Kept(support("attributes")(module_.get())); });
}

std::string PythonModule::first_changed() const {
  return with_python(spec_, [this]() -> std::string {
    return py::str(support("first_changed")(noted_.get(), support("attributes")(module_.get())));
  });
}

std::string PythonModule::first_replaced() const {
  return with_python(spec_, [this]() -> std::string {
    std::size_t count = 0;
    for (const std::vector<ModuleTensor>* all : {&parameters_, &moving_, &still_}) {
      for (const ModuleTensor& held : *all) {
        count += held.slots.size();
        if (all == &parameters_ && !taken(held).is_alias_of(held.value)) {
          return held.name;
        }
      }
    }
    const py::list now = support("tensors")(module_.get());
    return now.size() == count ? std::string() : "the number of its parameters and buffers";
  });
}

}  // namespace gangway::python
