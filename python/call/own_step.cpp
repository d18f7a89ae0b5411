// SPDX-License-Identifier: MIT
#include "python/call/own_step.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/precision.hpp"
#include "python/call/python_block.hpp"
#include "python/call/user_code.hpp"
#include "python/open/process_generator.hpp"

namespace gangway::python {
namespace {

namespace py = pybind11;

/// Returns the text of self.model.
std::string model_text(const ModelSpec& model) {
  return fmt::format(R"({{"latent": {}, "resolution": {}, "channels": {}, "classes": {}}})",
                     model.latent, model.resolution, model.channels, model.classes);
}

/// Converts a batch. The caller holds the interpreter's lock.
py::dict dict_of(const gan::NamedTensors& batch, at::Device device) {
  py::dict dict;
  for (const auto& [name, tensor] : batch.entries()) {
    dict[py::str(name)] = wrapped(at::alias(tensor.to(device)));
  }
  return dict;
}

class OwnStep final : public PythonStep {
 public:
  OwnStep(const Job& job, const PerNetwork<gan::Network*>& networks)
      : job_(job), spec_(job.training.step.python_spec("training.step", job.training.seed)) {
    for (gan::Network* network : networks) {
      auto* block = dynamic_cast<PythonBlock*>(&network->block(0));
      if (block == nullptr) {
        throw InvariantError("training.step has a network that is no Python; please report this");
      }
      blocks_.add(block);
    }
    const SeededGenerator drawn_from(at::kCPU, spec_.seed);
    with_python(spec_, [this] {
      py::dict modules;
      for (const NetworkId id : blocks_.ids()) {
        modules[py::str(job_.networks[id].name)] = blocks_[id]->module().module().get();
      }
      object_ = Kept(support("make_step")(*place_of(spec_), spec_.arguments, spec_.seed, modules,
                                          model_text(job_.model)));
      noted_ = Kept(support("kept_by")(object_.get()));
    });
  }

  Shown show(const gan::NamedTensors& batch) override {
    Shown shown;
    const RandomKey key{.seed = job_.training.seed, .phase = kPhaseSample};
    beside_training("show", batch, key, [&](const py::dict& examples, std::uint64_t seed) {
      const py::tuple made = support("show_step")(object_.get(), examples, seed);
      shown = {.pictures = *unwrapped(made[0]), .wav = made[1].cast<std::string>()};
    });
    return shown;
  }

  Figures score(const gan::NamedTensors& batch, std::int64_t number) override {
    Figures figures;
    const RandomKey key{.seed = job_.training.seed, .step = number, .phase = kPhaseEvaluation};
    beside_training("score", batch, key, [&](const py::dict& examples, std::uint64_t seed) {
      for (const auto& [name, value] :
           support("score_step")(object_.get(), examples, seed).cast<py::dict>()) {
        figures.emplace_back(name.cast<std::string>(), value.cast<double>());
      }
    });
    return figures;
  }

  void begin_step(std::int64_t step) override {
    kept_.clear();
    step_ = step;
    if (step_on_device_.defined()) {
      step_on_device_.fill_(step);
    }
  }

  Made call(const Call& call) override {
    const Kept& kept = kept_of(call);
    const bool is_tried = !tried_.insert(call.method).second;
    const Kept before = is_tried ? Kept() : copy_of(kept);
    Made made = called(call, kept);
    if (!is_tried) {
      const Made again = called(call, before);
      if (!at::equal(made.loss.detach().nan_to_num(), again.loss.detach().nan_to_num())) {
        refuse(spec_,
               fmt::format("{} makes another loss of the same micro-batch when it is called again: "
                           "what it draws has to come from torch, random or numpy.random, and what "
                           "it keeps is lost",
                           call.method));
      }
      require_unchanged(call.method);
      require_equal(kept, before, call.method);
    }
    for (const NetworkId id : call.trained) {
      if (call.sinks[id] != nullptr) {
        blocks_[id]->give(moved_[id], *call.sinks[id]);
      }
    }
    return made;
  }

 private:
  /// Returns what this step's phases keep for the call's micro-batch.
  const Kept& kept_of(const Call& call) {
    Kept& kept = kept_[call.key.microbatch];
    if (!kept.get()) {
      kept = with_python(spec_, [] { return Kept(support("no_tensors")()); });
    }
    return kept;
  }

  [[nodiscard]] Kept copy_of(const Kept& kept) const {
    return with_python(spec_, [&] { return Kept(support("copy_of")(kept.get())); });
  }

  void require_equal(const Kept& kept, const Kept& again, const std::string& method) const {
    const std::string other = with_python(spec_, [&]() -> std::string {
      return py::str(support("first_other_tensor")(kept.get(), again.get()));
    });
    if (!other.empty()) {
      refuse(spec_, fmt::format("{} keeps another '{}' of the same micro-batch when it is called "
                                "again: what it draws has to come from torch, random or "
                                "numpy.random",
                                method, other));
    }
  }

  Made called(const Call& call, const Kept& kept) {
    const at::Device device = call.batch.entries().front().second.device();
    const std::uint64_t seed = seed_of_call(call.key);
    PerNetwork<std::vector<at::Tensor>> given;
    for (PythonBlock* block : blocks_) {
      given.add(block->moving());
    }
    const SeededGenerator drawn_from(device, seed);
    const gan::ComputePrecision precision(job_.networks[call.trained.front()].precision,
                                          device.type());
    Made made;
    std::vector<std::int64_t> versions;
    for (const auto& [name, tensor] : call.batch.entries()) {
      versions.push_back(tensor._version());
    }
    moved_ = {};
    with_python(spec_, [&] {
      for (const NetworkId id : blocks_.ids()) {
        blocks_[id]->module().be_ready(
            job_.networks[id].is_frozen ? gan::Mode::kEvaluation : gan::Mode::kTraining, device,
            given[id]);
      }
      const OwnKernels kernels(gan::Derivatives::kFirst);  // its own second ones are possible
      const py::tuple result =
          support("call_step")(object_.get(), call.method, dict_of(call.batch, device),
                               number_for(call.method, device), seed, kept.get());
      made.loss = *unwrapped(result[0]);
      for (const auto& [name, value] : result[1].cast<py::dict>()) {
        made.figures[name.cast<std::string>()] = *unwrapped(value);
      }
      for (PythonBlock* block : blocks_) {
        moved_.add(block->module().moved());
      }
    });
    auto version = versions.begin();
    for (const auto& [name, tensor] : call.batch.entries()) {
      if (tensor._version() != *version++) {
        refuse(spec_, fmt::format("{} writes to batch[\"{}\"], which other phases look at, too: "
                                  "write to a clone()",
                                  call.method, name));
      }
    }
    return made;
  }

  /// Returns the step number for a method: a tensor that begin_step() updates if the method may be
  /// recorded.
  py::object number_for(const std::string& method, at::Device device) {
    const auto& phases = job_.training.own.phases;
    const auto phase = std::ranges::find(phases, method, &OwnPhase::name);
    if (phase == phases.end() || !phase->is_captured) {
      return py::int_(step_);
    }
    if (!step_on_device_.defined()) {
      step_on_device_ = at::full({}, step_, at::dtype(at::kLong).device(device));
    }
    return wrapped(step_on_device_);
  }

  /// Calls a method that trains nothing, with networks in evaluation, and restores all state.
  /// @param body  makes the call, with examples as Python objects and a seed
  template <typename Body>
  void beside_training(const std::string& method, const gan::NamedTensors& batch,
                       const RandomKey& key, const Body& body) {
    const at::NoGradGuard no_grad;
    const at::Device device = (*blocks_.begin())->module().parameters().front().value.device();
    const std::uint64_t seed = seed_of_call(key);
    PerNetwork<std::vector<at::Tensor>> given;
    for (PythonBlock* block : blocks_) {
      given.add(block->moving());
    }
    const std::vector<std::int64_t> before = weight_versions();
    const SeededGenerator drawn_from(device, seed);
    with_python(spec_, [&] {
      for (const NetworkId id : blocks_.ids()) {
        blocks_[id]->module().be_ready(gan::Mode::kEvaluation, device, given[id]);
      }
      body(dict_of(batch, device), seed);
      for (PythonBlock* block : blocks_) {
        (void)block->module().moved();  // checks that constants have not changed
      }
    });
    if (weight_versions() != before) {
      refuse(spec_, method + " writes to a network's weights, and training continues with them");
    }
    require_unchanged(method);
  }

  [[nodiscard]] std::vector<std::int64_t> weight_versions() const {
    std::vector<std::int64_t> versions;
    for (PythonBlock* block : blocks_) {
      for (const PythonModule::ModuleTensor& held : block->module().parameters()) {
        versions.push_back(held.value._version());
      }
    }
    return versions;
  }

  void require_unchanged(const std::string& method) const {
    const std::string changed = with_python(spec_, [this]() -> std::string {
      return py::str(support("first_changed")(noted_.get(), support("kept_by")(object_.get())));
    });
    if (!changed.empty()) {
      refuse(spec_,
             fmt::format("{} changes self.{}, which would be lost with each checkpoint, and be "
                         "another one on each worker: keep it in a buffer of a network",
                         method, changed));
    }
  }

  const Job& job_;
  PythonSpec spec_;
  PerNetwork<PythonBlock*> blocks_;
  Kept object_;
  Kept noted_;
  std::set<std::string> tried_;
  PerNetwork<std::vector<at::Tensor>> moved_;
  std::map<std::int32_t, Kept> kept_;  // by micro-batch
  std::int64_t step_ = 0;
  at::Tensor step_on_device_;  // int64, []; undefined until a phase that may be recorded asks
};

}  // namespace

OwnStepFacts own_step_facts(const Job& job) {
  const PythonSpec spec = job.training.step.python_spec("training.step", job.training.seed);
  return with_python(spec, [&] {
    py::list names;
    py::list trained;
    for (const NetworkSpec& network : job.networks) {
      names.append(network.name);
      if (!network.is_frozen) {
        trained.append(network.name);
      }
    }
    const py::tuple found = support("look_at_step")(*place_of(spec), names, trained);
    OwnStepFacts facts{.phases = {},
                       .shows = found[1].cast<bool>(),
                       .scores = found[2].cast<bool>(),
                       .is_higher_better = found[3].cast<bool>(),
                       .takes = {}};
    for (const py::handle row : found[0]) {
      const auto fields = py::reinterpret_borrow<py::tuple>(row);
      OwnPhase phase{.name = fields[0].cast<std::string>(),
                     .networks = {},
                     .repeats = fields[2].cast<int>(),
                     .interval = fields[3].cast<int>(),
                     .takes_reals = fields[4].cast<bool>(),
                     .is_captured = fields[5].cast<bool>()};
      for (const py::handle network : fields[1]) {
        phase.networks.push_back(network.cast<std::string>());
      }
      facts.phases.push_back(std::move(phase));
    }
    for (const auto& [network, examples] : found[4].cast<py::dict>()) {
      for (const py::handle example : examples) {
        const auto fields = py::reinterpret_borrow<py::tuple>(example);
        OwnStepFacts::Input input{.shape = {}, .is_whole = fields[1].cast<bool>()};
        for (const py::handle size : fields[0]) {
          input.shape.push_back(size.cast<std::int64_t>());
        }
        facts.takes[network.cast<std::string>()].push_back(std::move(input));
      }
    }
    return facts;
  });
}

std::unique_ptr<PythonStep> make_own_step(const Job& job,
                                          const PerNetwork<gan::Network*>& networks) {
  return std::make_unique<OwnStep>(job, networks);
}

}  // namespace gangway::python
