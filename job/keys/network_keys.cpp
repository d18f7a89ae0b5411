// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text/utf8.hpp"
#include "job/choices.hpp"
#include "job/keys/family_texts.hpp"
#include "job/keys/hashed_file_keys.hpp"
#include "job/keys/key_lists.hpp"
#include "job/keys/key_uses.hpp"
#include "job/keys/python_call.hpp"
#include "job/keys/schedule_keys.hpp"
#include "job/models/python_network.hpp"
#include "job/optimizers.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

using Keys = std::vector<Key>;

/// Makes the key of the map `NETWORK.optimizer.KIND`. Naming another kind starts from its defaults.
Key optimizer_variant(const std::string& path, NetworkId id, OptimizerKind kind) {
  std::vector<std::string> names;
  std::vector<std::string> sources;
  for (const OptimizerRow& row : kOptimizers) {
    names.emplace_back(row.name);
    sources.push_back(fmt::format("{} ({})", row.name, row.source));
  }
  const std::string last = std::exchange(sources.back(), {});
  sources.pop_back();
  Key key = make_key({path, "", fmt::format("Optimiser: {} or {}", joined(sources, ", "), last)},
                     "map", "one of " + joined(names, ", "));
  key.is_variant = true;
  key.set = [id, kind](const YamlNode&, JobSpec& job) -> std::string {
    if (job.networks[id].optimizer.kind != kind) {
      job.networks[id].optimizer = row_of(kind).defaults;
    }
    return {};
  };
  key.get = [](const JobSpec&) { return std::string(); };
  return key;
}

/// Makes the key of `number`, whose field has one number or two.
Key optimizer_number(const std::string& path, NetworkId id, const OptimizerNumber& number) {
  const auto make = [&](const auto& member) {
    const std::string name = path + "." + std::string(number.name);
    const std::string description(number.description);
    const auto field = of_network(id, member);
    if constexpr (std::is_same_v<decltype(member), double OptimizerSpec::*const&>) {
      return real_key(name, "", field, number.bounds, description);
    } else {
      return pair_key({name, "", description}, field, number.bounds);
    }
  };
  return std::visit(make, number.field);
}

/// Returns the reference page's default for an optimiser that a default job does not have.
std::string default_in(const OptimizerRow& row, const OptimizerNumber& number) {
  OptimizerSpec spec = row.defaults;
  OptimizerSpec usual;
  const std::span<double> own = number.values(spec);
  if (std::ranges::equal(own, number.values(usual))) {
    return {};
  }
  std::vector<std::string> texts;
  std::ranges::transform(own, std::back_inserter(texts), real_text);
  return own.size() == 1 ? texts.front() : fmt::format("[{}]", joined(texts, ", "));
}

void add_optimizer(Keys& keys, const std::string& section, NetworkId id, const OptimizerRow& row) {
  const OptimizerKind kind = row.kind;
  const std::string path = section + ".optimizer." + std::string(row.name);
  Keys own;
  own.push_back(optimizer_variant(path, id, kind));
  own.push_back(
      real_key(path + ".lr", "", of_network(id, &OptimizerSpec::lr), kAboveZero, "Learning rate"));
  for (const OptimizerNumber& number : row.numbers) {
    own.push_back(with_default(optimizer_number(path, id, number), default_in(row, number)));
  }
  for (Key& key : own) {
    key.why_refused = [id, kind](const JobSpec& job) -> std::string {
      return job.networks[id].optimizer.kind == kind ? "" : "belongs to another optimiser";
    };
    keys.push_back(std::move(key));
  }
}

void add_initialization(Keys& keys, const std::string& section, NetworkId id) {
  using Kind = InitializationKind;
  const auto add_for = [&](Key key, bool is_deviation) {
    key.why_refused = [id, is_deviation](const JobSpec& job) -> std::string {
      const Kind kind = job.networks[id].initialization.kind;
      const bool is_meant =
          is_deviation ? kind == Kind::kNormal : kind != Kind::kNormal && kind != Kind::kFamily;
      return is_meant
                 ? ""
                 : fmt::format("has no meaning for initialization {}; leave it out", name_of(kind));
    };
    keys.push_back(later(std::move(key)));
  };
  keys.push_back(later(choice_key(
      section + ".initialization", of_network(id, &InitializationSpec::kind),
      "Initial matrices and kernels: the family's, normal with one deviation, xavier (Glorot and "
      "Bengio, 2010), he (He et al., 2015) or orthogonal (Saxe et al., 2014)")));
  add_for(real_key(section + ".initialization_deviation", "",
                   of_network(id, &InitializationSpec::deviation), kAboveZero,
                   "Deviation of initialization normal"),
          true);
  add_for(
      real_key(section + ".initialization_gain", "", of_network(id, &InitializationSpec::gain),
               kAboveZero,
               "Factor on all weights of initialization xavier, he or orthogonal; he includes a "
               "root of 2"),
      false);
}

void add_network(Keys& keys, const std::string& section, NetworkId id, bool is_averaged) {
  for (const OptimizerRow& row : kOptimizers) {
    add_optimizer(keys, section, id, row);
  }
  add_schedule_keys(keys, section, id, is_averaged);
  keys.push_back(real_key(section + ".clip_norm", "", of_network(id, &NetworkSpec::clip_norm),
                          kZeroOrMore, "Largest norm of the whole gradient; 0: no clipping"));
  keys.push_back(
      file_or_none_key({section + ".weights", "", "Weights to begin from, instead of random ones"},
                       of_network(id, &NetworkSpec::weights),
                       "none, or a safetensors file as of gangway checkpoints export"));
  keys.push_back(later(whole_key(
      section + ".lazy_interval", "steps", of_network(id, &NetworkSpec::lazy_interval),
      {0, 1'000'000},
      "Corrects learning rate and betas by n / (n + 1), as for a lazy regulariser every n steps; "
      "0: only if the network has one (StyleGAN2-ADA's code always corrects)")));
  add_initialization(keys, section, id);
  Key frozen = choice_key(section + ".frozen", of_network(id, &NetworkSpec::is_frozen),
                          "Whether the network keeps its weights and runs in evaluation mode");
  frozen.is_fingerprinted_at_default = false;
  keys.push_back(std::move(frozen));
}

/// Makes a key for auto, none, or a number.
Key ramp_up_key(KeyText text, NetworkId id) {
  Key key = make_key(std::move(text), "auto, none or number",
                     fmt::format("auto, none, or {}", text_of(kAboveZero)));
  key.set = [id](const YamlNode& node, JobSpec& job) -> std::string {
    RampUp& ramp = job.networks[id].ema_rampup;
    if (node.kind == YamlNode::Kind::kScalar && (node.text == "auto" || node.text == "none")) {
      ramp = {.kind = node.text == "auto" ? RampUp::Kind::kHistory : RampUp::Kind::kNone};
      return {};
    }
    const auto read = read_real(node, kAboveZero);
    if (read.complaint.empty()) {
      ramp = {.kind = RampUp::Kind::kShare, .share = read.value};
    }
    return read.complaint.empty() ? "" : fmt::format("{}, or auto or none", read.complaint);
  };
  key.get = [id](const JobSpec& job) {
    const RampUp& ramp = job.networks[id].ema_rampup;
    return ramp.kind == RampUp::Kind::kShare     ? real_text(ramp.share)
           : ramp.kind == RampUp::Kind::kHistory ? std::string("auto")
                                                 : std::string("none");
  };
  return key;
}

/// Adds the keys of the average of a network's weights.
void add_average(Keys& keys, const std::string& section, NetworkId id) {
  keys.push_back(real_key(
      section + ".ema_kimg", kKimg, of_network(id, &NetworkSpec::ema_kimg), kZeroOrMore,
      "Half-life of the moving average of the weights, updated once a step; 0: no average, unless "
      "schedule.ema raises it"));
  const auto for_averaged = [&](Key key) {
    key.why_refused = [id](const JobSpec& job) -> std::string {
      return job.networks[id].is_averaged() ? ""
                                            : "has a meaning with an average alone; leave it out";
    };
    keys.push_back(later(std::move(key)));
  };
  for_averaged(ramp_up_key(
      {section + ".ema_rampup", "",
       "Bound on the half-life at first: auto, a decay of at most (1 + n) / (10 + n) after n "
       "updates, about 1/13 of the images so far; a number, that share of them; or none"},
      id));
  for_averaged(real_key(section + ".ema_start_kimg", kKimg,
                        of_network(id, &NetworkSpec::ema_start_kimg), kZeroOrMore,
                        "Until then the average equals the weights (BigGAN's code)"));
}

/// Refuses keys about training for a frozen network.
void refuse_where_frozen(NetworkId id, const std::string& section, Key& key) {
  if (key.path == section + ".frozen" || key.path == section + ".weights") {
    return;
  }
  key.why_refused = [id, otherwise = std::move(key.why_refused)](const JobSpec& job) {
    return job.networks[id].is_frozen ? "has no meaning for a frozen network; leave it out"
                                      : otherwise(job);
  };
}

/// @param note  complaint about a word that names no class
/// @param of    returns a job's ModuleFile that the key is about
template <typename Of>
void add_python_class(Keys& keys, KeyText text, const std::string& note, Of of) {
  Keys own;
  add_hashed_file_keys(own, std::move(text), "FILE.py:CLASS, or a map", of);
  Key& file = own.front();
  file.has_members = true;
  file.set = [of, note, set_file = file.set](const YamlNode& node, JobSpec& job) -> std::string {
    if (is_about_python(node)) {
      return read_python_call(node, of(job));
    }
    of(job).module.clear();
    of(job).python_class.clear();
    of(job).arguments.clear();
    const std::string complaint = set_file(node, job);
    return complaint.empty() && !of(job).file.empty() ? class_expected(node) + note : complaint;
  };
  file.get = [of, get_file = file.get](const JobSpec& job) {
    return of(job).is_python() ? python_call_text(of(job)) : get_file(job);
  };
  std::ranges::move(own, std::back_inserter(keys));
}

void add_module(Keys& keys, const std::string& network, NetworkId id) {
  add_python_class(
      keys,
      {"model." + network, "",
       fmt::format("Your own {} instead of the family's: a Python class, as nets.py:Net; with "
                   "arguments {{python: nets.py:Net, width: 64}} (docs/python.md)",
                   network)},
      "; TorchScript files are no networks any more: load it in a Python class "
      "(examples/python/torchscript.py, docs/python.md)",
      of_network(id, &NetworkSpec::module));
}

/// Makes a key for a word for all networks, or a map by network, which reads and writes `field`. A
/// network that is not in the map keeps the default.
template <typename Value>
Key by_network_key(KeyText text, const Recipe& recipe, Value NetworkSpec::*field) {
  const Key one = choice_key(text.path, of_network(NetworkId{0}, field), text.description);
  Key key = make_key(std::move(text), "choice, or map by network", one.allowed);
  key.set = [one, field, &recipe](const YamlNode& node, JobSpec& job) -> std::string {
    const auto read_into = [&](const YamlNode& value, NetworkSpec& network) {
      JobSpec draft;
      std::string complaint = one.set(value, draft);
      network.*field = draft.networks[NetworkId{0}].*field;
      return complaint;
    };
    PerNetwork<NetworkSpec> read = job.networks;
    std::string complaint;
    for (NetworkSpec& network : read) {
      network.*field = NetworkSpec{}.*field;
      if (node.kind != YamlNode::Kind::kMap && complaint.empty()) {
        complaint = read_into(node, network);
      }
    }
    for (const YamlEntry& entry : node.entries) {
      const auto named = std::ranges::find(read, entry.key, &NetworkSpec::name);
      const std::string fault = named == read.end()
                                    ? "no such network; expected " + network_names(recipe)
                                    : read_into(entry.value, *named);
      if (complaint.empty() && !fault.empty()) {
        complaint = shown(entry.key) + ": " + fault;
      }
    }
    if (complaint.empty()) {
      job.networks = read;
    }
    return complaint;
  };
  key.get = [field](const JobSpec& job) {
    std::vector<std::string> entries;
    for (const NetworkSpec& network : job.networks) {
      entries.push_back(network.name + ": " + std::string(name_of(network.*field)));
    }
    const Value first = job.networks[NetworkId{0}].*field;
    const bool is_one = std::ranges::all_of(
        job.networks,
        [field, first](const NetworkSpec& network) { return network.*field == first; });
    return is_one ? std::string(name_of(first)) : "{" + joined(entries, ", ") + "}";
  };
  return key;
}

}  // namespace

void add_step_keys(std::vector<Key>& keys) {
  Keys own;
  add_python_class(
      own,
      {"training.step", "",
       "Your own phases of a step instead of the recipe's: a Python class, step.py:Step, with "
       "arguments as for a network (docs/own-step.md)"},
      "", [](auto& job) -> auto& { return job.training.step; });
  for (Key& key : own) {
    keys.push_back(later(std::move(key)));
  }
}

void add_module_keys(const Recipe& recipe, std::vector<Key>& keys) {
  const PerNetwork<NetworkSpec> networks = networks_of(recipe);
  for (const NetworkId id : networks.ids()) {
    if (may_be_own(recipe.networks[static_cast<std::size_t>(id)].role)) {
      add_module(keys, networks[id].name, id);
    }
  }
}

Key wire_key(KeyText text, const Recipe& recipe) {
  return by_network_key(std::move(text), recipe, &NetworkSpec::wire);
}

Key precision_key(KeyText text, const Recipe& recipe) {
  return by_network_key(std::move(text), recipe, &NetworkSpec::precision);
}

void add_network_keys(const Recipe& recipe, std::vector<Key>& keys) {
  const PerNetwork<NetworkSpec> networks = networks_of(recipe);
  for (const NetworkId id : networks.ids()) {
    const RecipeNetwork& row = recipe.networks[static_cast<std::size_t>(id)];
    const std::string& section = networks[id].name;
    const auto first = static_cast<std::ptrdiff_t>(keys.size());
    add_network(keys, section, id, row.is_averaged);
    if (row.is_averaged) {
      add_average(keys, section, id);
    }
    if (row.name == recipe.shown) {
      keys.push_back(for_distillation(later(choice_key(
          section + ".prune", &DistillSpec::prunes,
          "Whether its first weights are the teacher's channels with the largest absolute weights "
          "(Li et al., 2017), not random"))));
    }
    if (row.name == recipe.counts) {
      keys.push_back(
          whole_key(section + ".steps", "", of_network(id, &NetworkSpec::steps), {1, 1000},
                    fmt::format("Updates of the {} per update of the {}", section, recipe.shown)));
    }
    std::for_each(keys.begin() + first, keys.end(),
                  [&](Key& key) { refuse_where_frozen(id, section, key); });
  }
}

}  // namespace gangway
