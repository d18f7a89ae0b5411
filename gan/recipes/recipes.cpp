// SPDX-License-Identifier: MIT
#include "gan/recipes/recipes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/errors.hpp"
#include "gan/recipes/adversarial.hpp"
#include "gan/recipes/library_recipes.hpp"
#include "gan/recipes/recipe_phases.hpp"
#include "job/library/family_library.hpp"
#include "job/library/shared_library.hpp"

namespace gangway::gan {
namespace {

using Phases = std::vector<Phase> (*)(const Job& job);

constexpr std::array kPhases{
    std::pair<std::string_view, Phases>{"adversarial", adversarial_phases},
    std::pair<std::string_view, Phases>{"vae", autoencoder_phases},
    std::pair<std::string_view, Phases>{"infogan", information_phases},
    std::pair<std::string_view, Phases>{"vae-gan", feature_autoencoder_phases},
    std::pair<std::string_view, Phases>{"pix2pix", pix2pix_phases},
    std::pair<std::string_view, Phases>{"cyclegan", cyclegan_phases},
    std::pair<std::string_view, Phases>{"style-transfer", style_transfer_phases},
    std::pair<std::string_view, Phases>{"distill", distillation_phases},
};

bool looks_at_reals(const Phase& phase) {
  return std::ranges::any_of(phase.passes, [](const Pass& pass) {
    return std::ranges::any_of(
        pass.nodes, [](const Node& node) { return std::holds_alternative<Reals>(node); });
  });
}

/// Removes frozen networks from the phases, and phases that then train nothing.
std::vector<Phase> without_frozen(std::vector<Phase> phases, const Job& job) {
  if (std::ranges::none_of(job.networks, &NetworkSpec::is_frozen)) {
    return phases;
  }
  for (Phase& phase : phases) {
    std::erase_if(phase.networks,
                  [&job](NetworkId network) { return job.networks[network].is_frozen; });
  }
  std::erase_if(phases, [](const Phase& phase) { return phase.networks.empty(); });
  for (Phase& phase : phases) {
    for (Pass& pass : phase.passes) {
      if (pass.recall) {
        const auto earlier = std::ranges::find(phases, pass.recall->phase, &Phase::index);
        if (earlier == phases.end()) {
          pass.recall.reset();  // the recalled phase is gone: computes it anew
        } else {
          pass.recall->phase = static_cast<int>(earlier - phases.begin());
        }
      }
    }
  }
  if (std::ranges::none_of(phases, &Phase::takes_reals)) {
    // If the phase that took new examples is gone, the first remaining phase with real examples
    // does.
    const auto first = std::ranges::find_if(phases, looks_at_reals);
    if (first != phases.end()) {
      first->takes_reals = true;
    }
  }
  return completed(std::move(phases));
}

/// @throws ConfigError if a trained network is not updated in every step, because updates copy the
/// snapshots
void require_updates(const std::vector<Phase>& phases, const Job& job, const std::string& file) {
  for (const NetworkId id : job.networks.ids()) {
    const bool is_updated = std::ranges::any_of(phases, [id](const Phase& phase) {
      return phase.interval == 1 && std::ranges::find(phase.networks, id) != phase.networks.end();
    });
    if (!is_updated && !job.networks[id].is_frozen) {
      std::string complaint = file;
      complaint.append(": no phase of every step trains ").append(job.networks[id].name);
      throw ConfigError(complaint.append("; add one, or give the job a frozen one"));
    }
  }
}

/// Returns the phases of the job's own step: each is a method that computes a micro-batch's loss.
std::vector<Phase> own_phases(const Job& job) {
  if (job.training.own.phases.empty()) {
    throw ConfigError(
        "training.step is Python, and its phases have not been read here: there is no plan of it");
  }
  std::vector<Phase> phases;
  int reals = 0;
  for (const OwnPhase& own : job.training.own.phases) {
    Phase phase{.name = own.name,
                .repeats = own.repeats,
                .interval = own.interval,
                .takes_reals = own.takes_reals,
                .first_reals = own.takes_reals ? reals : 0};
    reals += own.takes_reals ? own.repeats : 0;
    for (const std::string& name : own.networks) {
      phase.networks.push_back(job.id_of(name));
    }
    Application call{.network = phase.networks.front(),
                     .inputs = {{"image", "real"}, {"labels", "real_labels"}},
                     .output = "loss",
                     .method = own.name};
    for (const NetworkId network : job.networks.ids()) {
      if (network != call.network) {
        call.beside.push_back(network);
      }
    }
    const Loss loss{.function = "made", .inputs = {"loss"}, .shown_with = phase.networks.front()};
    phase.passes.push_back({.name = own.name, .nodes = {Reals{}, call, loss}});
    phases.push_back(std::move(phase));
  }
  if (reals != job.real_batches_per_step()) {
    std::string complaint =
        "training.step takes " + std::to_string(reals) + " new batches a step, and the job has " +
        std::to_string(job.real_batches_per_step()) + ": count new_batch and repeats of its phases";
    if (const std::string_view counts = job.training.recipe->counts; !counts.empty()) {
      complaint.append(", or set ").append(counts).append(".steps=").append(std::to_string(reals));
      complaint.append(", or, where one of them is the generator's, training.generator_reals=new");
    }
    throw ConfigError(complaint);
  }
  return completed(job, std::move(phases));
}

/// Returns the phases of the job's library. They are in its file with LibTorch, which only workers
/// load; no other process needs them.
std::vector<Phase> phases_of_library(const Job& job, std::string_view torch) {
  const std::string file = blocks_file(job.model.library.file).string();
  const SharedLibrary opened = open_blocks(job.model.library.file, torch);
  const LibraryRecipes& added =
      opened.function<const LibraryRecipes&()>("gangway_library_recipes")();
  const std::string_view name = job.training.recipe->name;
  const auto found = std::ranges::find(added.recipes, name, &LibraryRecipe::recipe);
  if (found == added.recipes.end()) {
    std::string complaint = file;
    complaint.append(": does not say what a step of its recipe ").append(name);
    throw ConfigError(complaint.append(" does: gangway_library_recipes() has to list it"));
  }
  std::vector<Phase> phases = completed(found->phases(job));
  require_updates(phases, job, file);
  return phases;
}

}  // namespace

std::vector<Phase> phases_of(const Job& job, std::string_view torch) {
  if (job.training.step.is_python()) {
    std::vector<Phase> phases = own_phases(job);
    require_updates(phases, job, job.training.step.file);
    return phases;
  }
  const std::string_view name = job.training.recipe->name;
  for (const auto& [recipe, phases] : kPhases) {
    if (recipe == name) {
      return without_frozen(phases(job), job);
    }
  }
  if (!job.model.library.file.empty()) {
    return without_frozen(phases_of_library(job, torch), job);
  }
  throw InvariantError("recipe " + std::string(name) + " has no phases; please report this");
}

}  // namespace gangway::gan
