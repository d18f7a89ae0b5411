// SPDX-License-Identifier: MIT
#include "python/own_step.hpp"

#include <set>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/precision.hpp"
#include "gan/script/called_network.hpp"
#include "gan/script/process_generator.hpp"
#include "python/python_block.hpp"
#include "python/user_code.hpp"

namespace gangway::python {
namespace {

namespace py = pybind11;

ScriptSpec spec_of(const JobSpec& job) {
  const ModuleFile& step = job.training.step;
  return {.key = "training.step",
          .file = step.file,
          .hash = step.hash,
          .python_class = step.python_class,
          .arguments = step.arguments,
          .seed = job.training.seed};
}

/// For self.model.
std::string model_text(const ModelSpec& model) {
  return fmt::format(R"({{"latent": {}, "resolution": {}, "channels": {}, "classes": {}}})",
                     model.latent, model.resolution, model.channels, model.classes);
}

class OwnStep final : public gan::PythonStep {
 public:
  OwnStep(const JobSpec& job, const PerNetwork<gan::Network*>& networks)
      : job_(job), spec_(spec_of(job)) {
    for (gan::Network* network : networks) {
      auto* block = dynamic_cast<PythonBlock*>(&network->block(0));
      if (block == nullptr) {
        throw InvariantError("training.step has a network that is no Python; please report this");
      }
      blocks_.add(block);
    }
    const gan::SeededGenerator drawn_from(at::kCPU, spec_.seed);
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

  Made call(const Call& call) override {
    Made made = called(call);
    if (tried_.insert(call.method).second) {
      const Made again = called(call);
      if (!at::equal(made.loss.detach().nan_to_num(), again.loss.detach().nan_to_num())) {
        refuse(spec_,
               fmt::format("{} makes another loss of the same micro-batch when it is called again: "
                           "what it draws has to come from torch, random or numpy.random, and what "
                           "it keeps is lost",
                           call.method));
      }
      require_unchanged(call.method);
    }
    for (const NetworkId id : call.trained) {
      if (call.sinks[id] != nullptr) {
        blocks_[id]->give(moved_[id], *call.sinks[id]);
      }
    }
    return made;
  }

 private:
  Made called(const Call& call) {
    const at::Device device = call.batch.front().second.device();
    const std::uint64_t seed = gan::seed_of_call(call.key);
    PerNetwork<std::vector<at::Tensor>> given;
    for (PythonBlock* block : blocks_) {
      given.add(block->moving());
    }
    const gan::SeededGenerator drawn_from(device, seed);
    const gan::ComputePrecision precision(job_.networks[call.trained.front()].precision,
                                          device.type());
    Made made;
    moved_ = {};
    with_python(spec_, [&] {
      for (const NetworkId id : blocks_.ids()) {
        blocks_[id]->module().be_ready(
            job_.networks[id].is_frozen ? gan::Mode::kEvaluation : gan::Mode::kTraining, device,
            given[id]);
      }
      py::dict batch;
      for (const auto& [name, tensor] : call.batch) {
        batch[py::str(name)] = wrapped(at::alias(tensor));
      }
      const py::tuple result =
          support("call_step")(object_.get(), call.method, batch, call.step, seed);
      made.loss = *unwrapped(result[0]);
      for (const auto& [name, value] : result[1].cast<py::dict>()) {
        made.figures[name.cast<std::string>()] = *unwrapped(value);
      }
      for (PythonBlock* block : blocks_) {
        moved_.add(block->module().moved());
      }
    });
    return made;
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

  const JobSpec& job_;
  ScriptSpec spec_;
  PerNetwork<PythonBlock*> blocks_;
  Kept object_;
  Kept noted_;
  std::set<std::string> tried_;
  PerNetwork<std::vector<at::Tensor>> moved_;
};

}  // namespace

std::vector<OwnPhase> own_phases_of(const JobSpec& job) {
  const ScriptSpec spec = spec_of(job);
  return with_python(spec, [&] {
    py::list names;
    for (const NetworkSpec& network : job.networks) {
      if (!network.is_frozen) {
        names.append(network.name);
      }
    }
    std::vector<OwnPhase> phases;
    for (const py::handle row : support("own_phases")(*place_of(spec), names)) {
      const auto fields = py::reinterpret_borrow<py::tuple>(row);
      OwnPhase phase{.name = fields[0].cast<std::string>(),
                     .networks = {},
                     .repeats = fields[2].cast<int>(),
                     .interval = fields[3].cast<int>(),
                     .takes_reals = fields[4].cast<bool>()};
      for (const py::handle network : fields[1]) {
        phase.networks.push_back(network.cast<std::string>());
      }
      phases.push_back(std::move(phase));
    }
    return phases;
  });
}

std::unique_ptr<gan::PythonStep> make_own_step(const JobSpec& job,
                                               const PerNetwork<gan::Network*>& networks) {
  return std::make_unique<OwnStep>(job, networks);
}

}  // namespace gangway::python
