// SPDX-License-Identifier: MIT
#include "python/check/trial.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

namespace gangway::python {
namespace {

using ModuleTensor = PythonModule::ModuleTensor;
using Tensors = std::vector<at::Tensor>;

/// Maximum of trial training steps: four times the steps until the last discovery, at most these.
/// The count is fixed so that all workers find the same.
constexpr int kMostTried = 8;
/// Seed of the first trial step; each step has its own.
constexpr std::uint64_t kFirstSeed = 1;

/// Returns whether a mean over micro-batches makes sense for that type.
bool can_be_averaged(at::ScalarType type) {
  return type == at::kFloat || type == at::kBool || at::isIntegralType(type, /*includeBool=*/true);
}

std::vector<std::int64_t> versions_of(const Tensors& tensors) {
  std::vector<std::int64_t> versions;
  std::ranges::transform(tensors, std::back_inserter(versions),
                         [](const at::Tensor& one) { return one._version(); });
  return versions;
}

Tensors values_of(const std::vector<ModuleTensor>& all) {
  Tensors values;
  std::ranges::transform(all, std::back_inserter(values), &ModuleTensor::value);
  return values;
}

Tensors clones_of(const Tensors& tensors) {
  Tensors clones;
  std::ranges::transform(tensors, std::back_inserter(clones),
                         [](const at::Tensor& one) { return one.detach().clone(); });
  return clones;
}

bool are_equal(const Tensors& first, const Tensors& second) {
  return std::ranges::equal(first, second, [](const at::Tensor& one, const at::Tensor& other) {
    return one.defined() == other.defined() &&
           (!one.defined() || at::equal(one.detach().nan_to_num(), other.detach().nan_to_num()));
  });
}

/// Results of a training step; equal calls must give equal results.
struct Step {
  Tensors made;
  Tensors gradients;  // by parameter; undefined if no gradient reaches it
  Tensors moved;
};

class Trial {
 public:
  explicit Trial(PythonModule& module)
      : module_(module),
        examples_(tried_examples(module.spec(), 0)),
        others_(tried_examples(module.spec(), 1)) {}

  void find_moving() {
    const Tensors initial = values_of(module_.moving());
    const Tensors parameters = values_of(module_.parameters());
    const std::vector<std::int64_t> of_parameters = versions_of(parameters);
    const std::vector<std::int64_t> of_examples = versions_of(examples_);
    std::vector<bool> moves(initial.size());
    Tensors now = clones_of(initial);
    for (int call = 1, last_found = 0; call <= std::clamp(4 * last_found, 2, kMostTried); ++call) {
      const Tensors before = clones_of(now);
      const Tensors given = clones_of(now);
      const std::vector<std::int64_t> of_given = versions_of(given);
      now = module_.call(gan::Mode::kTraining, examples_, given, seed(call)).moved;
      for (std::size_t i = 0; i < given.size(); ++i) {
        // A write suffices, even if it left the same value: the next may differ. BatchNorm on a CPU
        // writes without a new version, so values are compared, too.
        if (!moves[i] &&
            is_written(module_.moving()[i], before[i], {given[i], of_given[i]}, now[i])) {
          moves[i] = true;
          last_found = call;
        }
      }
    }
    require_unwritten(parameters, of_parameters, of_examples);
    module_.keep_moving(moves);
  }

  void require_repeatable() {
    const Step first = step(examples_, 1);
    module_.note_kept();
    (void)step(others_, 2);
    const Step again = step(examples_, 1);
    const std::string changed = module_.first_changed();
    if (!changed.empty()) {
      module_.refuse(
          fmt::format("{} changes from call to call, and would be lost with each "
                      "checkpoint: keep it in a buffer (register_buffer)",
                      changed));
    }
    require_equal(first.made, again.made, "other numbers");
    require_equal(first.gradients, again.gradients, "other gradients");
    require_equal(first.moved, again.moved, "other buffers");
    const at::NoGradGuard no_grad;
    const auto evaluated = [this] {
      return module_.call(gan::Mode::kEvaluation, examples_, buffers(), seed(1)).made;
    };
    require_equal(evaluated(), evaluated(), "in evaluation other numbers");
  }

  /// Requires the second derivatives of a penalty: of the norm of the gradient by the picture.
  void require_second_derivatives() {
    Tensors inputs = clones_of(examples_);
    inputs.front().requires_grad_(true);
    const Tensors made = module_.call(gan::Mode::kTraining, inputs, buffers(), seed(1)).made;
    differentiated("second derivatives, which a penalty takes,", [&] {
      const at::Tensor gradient =
          torch::autograd::grad({made.front().sum()}, {inputs.front()}, {}, /*retain_graph=*/true,
                                /*create_graph=*/true)[0];
      if (gradient.requires_grad()) {
        // Backward to all leaves, because a once_differentiable function raises its error at a leaf
        // of its own that leads to no parameter.
        torch::autograd::backward({gradient.square().sum()});
      }
    });
    for (at::Tensor parameter : values_of(module_.parameters())) {
      parameter.mutable_grad() = at::Tensor();
    }
  }

 private:
  [[nodiscard]] static std::uint64_t seed(int call) {
    return kFirstSeed + static_cast<std::uint64_t>(call) - 1;
  }
  [[nodiscard]] Tensors buffers() const { return clones_of(values_of(module_.moving())); }

  Step step(const Tensors& inputs, int call) {
    PythonModule::Called called =
        module_.call(gan::Mode::kTraining, inputs, buffers(), seed(call), gan::Derivatives::kFirst);
    Step step{.made = called.made, .moved = clones_of(called.moved)};
    at::Tensor loss;
    for (const at::Tensor& one : called.made) {
      if (one.is_floating_point()) {
        const at::Tensor part = one.square().sum() + one.sum();
        loss = loss.defined() ? loss + part : part;
      }
    }
    if (!loss.defined() || !loss.requires_grad()) {
      module_.refuse("what forward makes has no gradient to any parameter");
    }
    differentiated("a gradient", [&] {
      step.gradients = torch::autograd::grad({loss}, values_of(module_.parameters()), {},
                                             /*retain_graph=*/std::nullopt, /*create_graph=*/false,
                                             /*allow_unused=*/true);
    });
    return step;
  }

  /// Calls `body`, and reports errors of autograd or of a user's function that it calls.
  template <typename Body>
  void differentiated(std::string_view what, const Body& body) {
    std::string words;
    try {
      body();
      return;
    } catch (const std::exception& error) {
      words = error.what();
    }
    module_.refuse(fmt::format("{} cannot be taken: {}", what, words.substr(0, words.find('\n'))));
  }

  /// @param given  the tensor that the module could write to, and its version before the call
  [[nodiscard]] bool is_written(const ModuleTensor& held, const at::Tensor& before,
                                const std::pair<at::Tensor, std::int64_t>& given,
                                const at::Tensor& now) const {
    if (!now.defined()) {
      module_.refuse(
          fmt::format("forward makes the buffer {} something that is no tensor", held.name));
    }
    const bool is_other = now.sizes() != before.sizes();
    const bool written = !now.is_alias_of(given.first) || given.first._version() != given.second ||
                         is_other || !at::equal(now, before);
    if (written && (is_other || !can_be_averaged(now.scalar_type()))) {
      module_.refuse(fmt::format(
          "forward changes {}, which is {}: only float32 and whole numbers of one shape "
          "can be carried from step to step",
          held.name, shape_text(held.value)));
    }
    return written;
  }

  void require_unwritten(const Tensors& parameters, const std::vector<std::int64_t>& of_parameters,
                         const std::vector<std::int64_t>& of_examples) const {
    const std::vector<std::int64_t> now = versions_of(parameters);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] != of_parameters[i]) {
        module_.refuse("forward writes to the parameter " + module_.parameters()[i].name);
      }
    }
    if (versions_of(examples_) != of_examples) {
      module_.refuse("forward writes to its " + module_.spec().inputs.front().name +
                     "; let it make a new tensor");
    }
    if (const std::string name = module_.first_replaced(); !name.empty()) {
      module_.refuse(fmt::format("forward replaces {}", name));
    }
  }

  void require_equal(const Tensors& first, const Tensors& second, std::string_view what) const {
    if (!are_equal(first, second)) {
      module_.refuse(fmt::format(
          "makes {} of the same input when it is called again with the same buffers and random "
          "numbers: what it keeps from call to call has to be a buffer (register_buffer), and what "
          "it "
          "draws has to come from torch's own generator, random or numpy.random",
          what));
    }
  }

  PythonModule& module_;
  Tensors examples_;
  Tensors others_;
};

}  // namespace

void try_out(PythonModule& module) {
  Trial trial(module);
  trial.find_moving();
  trial.require_repeatable();
  if (module.spec().is_penalised) {
    trial.require_second_derivatives();
  }
}

}  // namespace gangway::python
