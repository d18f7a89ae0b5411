// SPDX-License-Identifier: MIT
#include "job/keys/schedule_keys.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text/suggestion.hpp"
#include "base/text/utf8.hpp"
#include "job/choices.hpp"

namespace gangway {
namespace {

using Milestones = std::vector<double>;

/// One word of a schedule: a key of its own for the learning rate, a map's entry elsewhere.
struct ScheduleWord {
  std::string_view name;
  std::string_view unit = {};
  std::string_view description = {};  ///< as for the learning rate; means the same in a map
  std::variant<double ScheduleSpec::*, int ScheduleSpec::*, Milestones ScheduleSpec::*,
               DecayKind ScheduleSpec::*, Anneal ScheduleSpec::*>
      field;
  std::span<const DecayKind> decays = {};  ///< that it applies to; empty: all
  RealBounds bounds = kZeroOrMore;
  bool is_old = false;     ///< older than the rest: for the learning rate, it always applies
  bool is_number = false;  ///< has the scheduled number's bounds; for a value, called `name` alone
};

constexpr std::array kWithEnd{DecayKind::kLinear, DecayKind::kCosine, DecayKind::kExponential,
                              DecayKind::kOneCycle};
constexpr std::array kCosineAlone{DecayKind::kCosine};
constexpr std::array kStepAlone{DecayKind::kStep};
constexpr std::array kOneCycleAlone{DecayKind::kOneCycle};

/// In print order.
constexpr std::array kScheduleWords{
    ScheduleWord{.name = "warmup_kimg",
                 .unit = kKimg,
                 .description = "Images in which the learning rate rises linearly from warmup_from",
                 .field = &ScheduleSpec::warmup_kimg,
                 .is_old = true},
    ScheduleWord{.name = "warmup_from",
                 .description = "With warmup_kimg: factor at the start",
                 .field = &ScheduleSpec::warmup_from,
                 .bounds = kZeroToOne},
    ScheduleWord{.name = "decay",
                 .description = "Form of the learning rate's decay (docs/training.md)",
                 .field = &ScheduleSpec::decay,
                 .is_old = true},
    ScheduleWord{.name = "start_kimg",
                 .unit = kKimg,
                 .description = "Where the decay begins",
                 .field = &ScheduleSpec::start_kimg,
                 .decays = kWithEnd},
    ScheduleWord{.name = "end_kimg",
                 .unit = kKimg,
                 .description = "Where the decay ends; 0: at the end of the burn-in",
                 .field = &ScheduleSpec::end_kimg,
                 .decays = kWithEnd},
    ScheduleWord{.name = "step_kimg",
                 .unit = kKimg,
                 .description = "With decay step: images from one fall to the next",
                 .field = &ScheduleSpec::step_kimg,
                 .decays = kStepAlone,
                 .is_old = true},
    ScheduleWord{.name = "step_factor",
                 .description = "With decay step: factor at each fall",
                 .field = &ScheduleSpec::step_factor,
                 .decays = kStepAlone,
                 .bounds = kAboveZeroToOne,
                 .is_old = true},
    ScheduleWord{.name = "milestones",
                 .unit = kKimg,
                 .description = "With decay step: where the rate falls, instead of every step_kimg",
                 .field = &ScheduleSpec::milestones,
                 .decays = kStepAlone},
    ScheduleWord{.name = "final",
                 .description = "With other decays: factor at the end",
                 .field = &ScheduleSpec::final_value,
                 .decays = kWithEnd,
                 .is_old = true,
                 .is_number = true},
    ScheduleWord{.name = "cycles",
                 .description = "With decay cosine: number of cycles, each from the full rate",
                 .field = &ScheduleSpec::cycles,
                 .decays = kCosineAlone},
    ScheduleWord{.name = "initial",
                 .description = "With decay onecycle: factor at the start",
                 .field = &ScheduleSpec::initial_value,
                 .decays = kOneCycleAlone,
                 .is_number = true},
    ScheduleWord{.name = "peak",
                 .description = "With decay onecycle: share of the decay in which the rate rises",
                 .field = &ScheduleSpec::peak,
                 .decays = kOneCycleAlone,
                 .bounds = {.is_low_allowed = false, .high = 1.0, .is_high_allowed = false}},
    ScheduleWord{.name = "anneal",
                 .description = "With decay onecycle: form of the rise and the fall",
                 .field = &ScheduleSpec::anneal,
                 .decays = kOneCycleAlone}};

std::string word_of(const ScheduleWord& word, ScheduleOf of) {
  return fmt::format("{}{}", word.name,
                     word.is_number && of == ScheduleOf::kFactor ? "_factor" : "");
}

/// Returns why the word has no effect in `schedule`; empty if it has one.
std::string why_mute(const ScheduleWord& word, const ScheduleSpec& schedule) {
  const bool is_meant =
      word.decays.empty() || std::ranges::find(word.decays, schedule.decay) != word.decays.end();
  if (!is_meant) {
    std::vector<std::string> names;
    for (const DecayKind decay : word.decays) {
      names.emplace_back(name_of(decay));
    }
    return fmt::format("has a meaning with decay {} alone; leave it out", joined(names, ", "));
  }
  return word.name == "warmup_from" && schedule.warmup_kimg == 0.0
             ? "has a meaning with warmup_kimg above 0 alone; leave it out"
             : "";
}

Read<Milestones> read_milestones(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kSequence) {
    return {.complaint = fmt::format("expected a list such as [10, 20], {}", unlike(node))};
  }
  Milestones places;
  for (const YamlNode& item : node.items) {
    const auto place = read_real(item, kAboveZero);
    if (!place.complaint.empty()) {
      return {.complaint = place.complaint};
    }
    if (!places.empty() && place.value <= places.back()) {
      return {.complaint = fmt::format("expected a list that rises; {} follows {}", place.value,
                                       places.back())};
    }
    places.push_back(place.value);
  }
  return {.value = places};
}

template <typename Field>
Key milestones_key(KeyText text, Field field) {
  Key key = make_key(std::move(text), "list of numbers", "above 0, rising");
  key.set = [field](const YamlNode& node, JobSpec& job) {
    return read_milestones(node).put_into(field(job));
  };
  key.get = [field](const JobSpec& job) {
    std::vector<std::string> places;
    for (const double place : field(job)) {
      places.push_back(real_text(place));
    }
    return fmt::format("[{}]", joined(places, ", "));
  };
  return key;
}

/// Makes the key of `word` in the learning rate's schedule of network `id`.
Key word_key(const ScheduleWord& word, const std::string& path, NetworkId id,
             const RealBounds& bounds) {
  const std::string unit(word.unit);
  const std::string description(word.description);
  constexpr std::uint64_t kMostCycles = 1'000'000;
  const auto make = [&](const auto& member) -> Key {
    const auto field = of_network(id, member);
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, double ScheduleSpec::*>) {
      return real_key(path, unit, field, bounds, description);
    } else if constexpr (std::is_same_v<Member, int ScheduleSpec::*>) {
      return whole_key(path, unit, field, {1, kMostCycles}, description);
    } else if constexpr (std::is_same_v<Member, Milestones ScheduleSpec::*>) {
      return milestones_key({path, unit, description}, field);
    } else {
      return choice_key(path, field, description);
    }
  };
  return std::visit(make, word.field);
}

/// Network of a draft job whose learning rate stands for the map's schedule.
constexpr NetworkId kDrafted{0};

Key drafted_key(const ScheduleWord& word, ScheduleOf of, const RealBounds& bounds) {
  return word_key(word, word_of(word, of), kDrafted, word.is_number ? bounds : word.bounds);
}

std::vector<std::string> words_of(ScheduleOf of) {
  std::vector<std::string> names;
  for (const ScheduleWord& word : kScheduleWords) {
    names.push_back(word_of(word, of));
  }
  return names;
}

std::string no_such_word(const std::string& given, ScheduleOf of) {
  const std::vector<std::string> names = words_of(of);
  const auto near = nearest_word(given, names);
  return fmt::format("{}: no such word; {}", shown(given),
                     near ? fmt::format("did you mean '{}'?", *near)
                          : fmt::format("expected {}", joined(names, ", ")));
}

/// Adds the keys of the learning rate's schedule.
void add_rate_keys(std::vector<Key>& keys, const std::string& section, NetworkId id) {
  for (const ScheduleWord& word : kScheduleWords) {
    const std::string name = word_of(word, ScheduleOf::kFactor);
    Key key = word_key(word, fmt::format("{}.{}", section, name), id, word.bounds);
    if (!word.is_old) {
      key.is_fingerprinted_at_default = false;
      key.why_refused = [id, &word](const JobSpec& job) {
        return why_mute(word, job.networks[id].schedule);
      };
    }
    keys.push_back(std::move(key));
  }
}

/// Returns whether the optimiser's moments decay by betas.
bool has_betas(const NetworkSpec& network) {
  return std::ranges::any_of(row_of(network.optimizer.kind).numbers,
                             [](const OptimizerNumber& number) { return number.name == "betas"; });
}

Key of_betas(Key key, NetworkId id) {
  key.why_refused = [id](const JobSpec& job) -> std::string {
    return has_betas(job.networks[id]) ? "" : "has a meaning for optimisers with betas alone";
  };
  return key;
}

}  // namespace

std::string allowed_schedule(ScheduleOf of) {
  return fmt::format("none, or {}", joined(words_of(of), ", "));
}

Read<ScheduleSpec> read_schedule(const YamlNode& node, ScheduleOf of, const RealBounds& bounds) {
  if (node.kind == YamlNode::Kind::kScalar && node.text == "none") {
    return {};
  }
  if (node.kind != YamlNode::Kind::kMap) {
    return {.complaint =
                fmt::format("expected none, or a map such as {{decay: cosine, {}: 0.5}}, {}",
                            of == ScheduleOf::kFactor ? "final_factor" : "final", unlike(node))};
  }
  JobSpec draft;
  ScheduleSpec& schedule = draft.networks[kDrafted].schedule;
  using Given = std::pair<std::string, const ScheduleWord*>;
  std::vector<Given> given;
  for (const YamlEntry& entry : node.entries) {
    const auto word = std::ranges::find(kScheduleWords, entry.key,
                                        [of](const ScheduleWord& one) { return word_of(one, of); });
    if (word == kScheduleWords.end()) {
      return {.complaint = no_such_word(entry.key, of)};
    }
    const std::string complaint = drafted_key(*word, of, bounds).set(entry.value, draft);
    if (!complaint.empty()) {
      return {.complaint = fmt::format("{}: {}", entry.key, complaint)};
    }
    given.emplace_back(entry.key, &*word);
  }
  for (const auto& [name, word] : given) {
    if (const std::string why = why_mute(*word, schedule); !why.empty()) {
      return {.complaint = fmt::format("{}: {}", name, why)};
    }
  }
  // The default, a share of the peak, does not suit a value.
  if (of == ScheduleOf::kValue && schedule.decay == DecayKind::kOneCycle &&
      std::ranges::find(given, "initial", &Given::first) == given.end()) {
    schedule.initial_value = 0.0;
  }
  const bool is_none = schedule.decay == DecayKind::kNone && schedule.warmup_kimg == 0.0;
  return {.value = is_none ? ScheduleSpec{} : schedule};
}

std::string schedule_text(const ScheduleSpec& schedule, ScheduleOf of) {
  if (schedule == ScheduleSpec{}) {
    return "none";
  }
  JobSpec draft;
  draft.networks[kDrafted].schedule = schedule;
  std::vector<std::string> entries;
  for (const ScheduleWord& word : kScheduleWords) {
    if (why_mute(word, schedule).empty()) {
      entries.push_back(
          fmt::format("{}: {}", word_of(word, of), drafted_key(word, of, kZeroOrMore).get(draft)));
    }
  }
  return fmt::format("{{{}}}", joined(entries, ", "));
}

void add_schedule_keys(std::vector<Key>& keys, const std::string& network, NetworkId id,
                       bool is_averaged) {
  const std::string section = network + ".schedule";
  add_rate_keys(keys, section, id);
  Key final_beta2 = real_key(section + ".final_beta2", "",
                             of_network(id, &NetworkSpec::final_beta2), kZeroToBelowOne,
                             "Decay of the second moment at the end of the burn-in; 0: unchanged");
  final_beta2.is_fingerprinted_at_default = false;
  final_beta2.why_refused = [id](const JobSpec& job) -> std::string {
    return has_second_beta(job.networks[id].optimizer.kind)
               ? ""
               : "has a meaning for adam and adamw alone; leave it out";
  };
  keys.push_back(std::move(final_beta2));
  keys.push_back(
      of_betas(schedule_key(section + ".beta1", of_network(id, &NetworkSpec::beta1_schedule),
                            ScheduleOf::kValue, kZeroToBelowOne,
                            "Schedule of the first moment's decay, as {decay: cosine, final: 0.9}"),
               id));
  keys.push_back(
      of_betas(schedule_key(section + ".beta2", of_network(id, &NetworkSpec::beta2_schedule),
                            ScheduleOf::kValue, kZeroToBelowOne, "The same for the second moment"),
               id));
  if (is_averaged) {
    Key ema = schedule_key(section + ".ema", of_network(id, &NetworkSpec::ema_schedule),
                           ScheduleOf::kValue, kZeroOrMore,
                           "Schedule of ema_kimg, as {warmup_kimg: 200}");
    ema.why_refused = [id](const JobSpec& job) -> std::string {
      return job.networks[id].is_averaged()
                 ? ""
                 : "has a meaning with ema_kimg above 0, or with a final value above 0, alone";
    };
    keys.push_back(std::move(ema));
  }
}

}  // namespace gangway
