// Makes keys of the types that a job file has: whole numbers, numbers, choices, text. Used by
// job/keys/key_table.cpp. Pure.
//
// A field is a pointer to a member, `&TrainingSpec::batch`, or a function such as
// `of_network(id, &NetworkSpec::steps)`, which gets a Job and serves reading and writing.
// Its type decides whether its key is in the fingerprint (kChangesWeights).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "job/choices.hpp"
#include "job/real_bounds.hpp"
#include "job/schema/key.hpp"

namespace gangway {

/// Unit of lengths counted in images.
inline constexpr const char* kKimg = "thousand images";

/// Texts about a key for people.
struct KeyText {
  std::string path;
  std::string unit;
  std::string description;
};

struct WholeBounds {
  std::uint64_t low = 0;
  std::uint64_t high = std::numeric_limits<std::uint64_t>::max();
};

/// A parsed value, or the complaint about it.
template <typename Value>
struct Read {
  Value value{};
  std::string complaint{};

  /// Puts the value into `target`, unless there is a complaint. Returns the complaint.
  [[nodiscard]] std::string put_into(auto& target) {
    if (complaint.empty()) {
      target = static_cast<std::remove_cvref_t<decltype(target)>>(std::move(value));
    }
    return std::move(complaint);
  }
};

[[nodiscard]] std::string text_of(const WholeBounds& bounds);
[[nodiscard]] std::string text_of(const RealBounds& bounds);
[[nodiscard]] Read<std::uint64_t> read_whole(const YamlNode& node, const WholeBounds& bounds);
[[nodiscard]] Read<double> read_real(const YamlNode& node, const RealBounds& bounds);
[[nodiscard]] Read<std::array<double, 2>> read_pair(const YamlNode& node, const RealBounds& bounds);
/// Reads a line without control characters, at most 4096 bytes.
[[nodiscard]] Read<std::string> read_text(const YamlNode& node);
/// Returns the shortest text that reads back as the same number.
[[nodiscard]] std::string real_text(double value);
/// Returns `text` as it is if YAML reads it back as the same text, else in single quotes.
[[nodiscard]] std::string quoted_if_needed(const std::string& text);
/// Returns what a value is, for messages: "not 'abc'", "not a list".
[[nodiscard]] std::string unlike(const YamlNode& node);
[[nodiscard]] std::string choice_complaint(const YamlNode& node,
                                           const std::vector<std::string>& names);
[[nodiscard]] std::string joined(const std::vector<std::string>& words, std::string_view separator);
[[nodiscard]] Key make_key(KeyText text, std::string type, std::string allowed);

/// Returns a function from a job to a field of network `id`, or of a part of the network.
template <typename Part, typename Value>
[[nodiscard]] auto of_network(NetworkId id, Value Part::*member) {
  return [ id, member ](auto& job) -> auto& {
    auto& network = job.networks[id];
    auto parts = std::tie(network, network.optimizer, network.schedule, network.initialization);
    using Whole = std::remove_reference_t<decltype(network)>;
    return std::get<std::conditional_t<std::is_const_v<Whole>, const Part&, Part&>>(parts).*member;
  };
}

/// Returns the part of a job file of type `Part`.
template <typename Part, typename Whole>
[[nodiscard]] auto& part_of(Whole& job) {
  using Held = std::conditional_t<std::same_as<Part, Execution>, LayoutChoice, Part>;
  using Found = std::conditional_t<std::is_const_v<Whole>, const Held&, Held&>;
  auto& training = job.training;
  return std::get<Found>(
      std::tie(job.model, job.data, job.data.augment, job.numerics, job.layout, job.checkpoint,
               job.evaluation, job.output, training, training.penalty, training.growth,
               training.labels, training.lecam, training.path_length, training.augment,
               training.autoencoder, training.information, training.translation, training.style,
               training.distill, training.divergence, training.plateau));
}

/// Returns a function from a job to its field, for reading and writing.
template <typename Field>
[[nodiscard]] auto access_to(Field field) {
  return [field](auto& job) -> auto& {
    using Of =
        std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(job)>>, const Job, Job>;
    return field(static_cast<Of&>(job));
  };
}
template <typename Part, typename Value>
[[nodiscard]] auto access_to(Value Part::*field) {
  return [field](auto& job) -> auto& { return part_of<Part>(job).*field; };
}

/// Whether a field can affect weights. A member of a part outside Job cannot.
template <typename Field>
inline constexpr bool kChangesWeights = true;
template <typename Part, typename Value>
inline constexpr bool kChangesWeights<Value Part::*> =
    !(std::derived_from<LayoutChoice, Part> || std::same_as<Part, CheckpointSpec> ||
      std::same_as<Part, EvaluationSpec> || std::same_as<Part, OutputSpec>);

template <typename Field>
[[nodiscard]] Key key_of(KeyText text, std::string type, std::string allowed) {
  Key key = make_key(std::move(text), std::move(type), std::move(allowed));
  key.changes_weights = kChangesWeights<Field>;
  return key;
}

template <typename Field>
[[nodiscard]] Key whole_key(std::string path, std::string unit, Field member, WholeBounds bounds,
                            std::string description) {
  const auto field = access_to(member);
  Key key = key_of<Field>({std::move(path), std::move(unit), std::move(description)},
                          "whole number", text_of(bounds));
  key.set = [field, bounds](const YamlNode& node, JobSpec& job) {
    return read_whole(node, bounds).put_into(field(job));
  };
  key.get = [field](const JobSpec& job) { return std::to_string(field(job)); };
  return key;
}

template <typename Field>
[[nodiscard]] Key real_key(std::string path, std::string unit, Field member, RealBounds bounds,
                           std::string description) {
  const auto field = access_to(member);
  Key key = key_of<Field>({std::move(path), std::move(unit), std::move(description)}, "number",
                          text_of(bounds));
  key.set = [field, bounds](const YamlNode& node, JobSpec& job) {
    return read_real(node, bounds).put_into(field(job));
  };
  key.get = [field](const JobSpec& job) { return real_text(field(job)); };
  return key;
}

template <typename Field>
[[nodiscard]] Key pair_key(KeyText text, Field member, RealBounds bounds) {
  const auto field = access_to(member);
  Key key = key_of<Field>(std::move(text), "list of two numbers", text_of(bounds));
  key.set = [field, bounds](const YamlNode& node, JobSpec& job) {
    return read_pair(node, bounds).put_into(field(job));
  };
  key.get = [field](const JobSpec& job) {
    return "[" + real_text(field(job)[0]) + ", " + real_text(field(job)[1]) + "]";
  };
  return key;
}

/// Makes a key whose value is one of the words of `choices(Value)`.
template <typename Field>
[[nodiscard]] Key choice_key(std::string path, Field member, std::string description) {
  const auto field = access_to(member);
  using Value = std::remove_cvref_t<decltype(field(std::declval<JobSpec&>()))>;
  const auto all = choices(Value{});
  std::vector<std::string> available;
  for (const auto& choice : all) {
    available.emplace_back(choice.name);
  }
  Key key = key_of<Field>({std::move(path), "", std::move(description)},
                          std::same_as<Value, bool> ? "true or false" : "choice",
                          joined(available, ", "));
  key.set = [field, all, available](const YamlNode& node, JobSpec& job) -> std::string {
    for (const auto& choice : all) {
      if (node.kind != YamlNode::Kind::kScalar || node.text != choice.name) {
        continue;
      }
      field(job) = choice.value;
      return {};
    }
    return choice_complaint(node, available);
  };
  key.get = [field](const JobSpec& job) { return std::string(name_of(field(job))); };
  return key;
}

/// Makes a key for any line of text; rules restrict the text (job/rules/rules.hpp).
template <typename Field>
[[nodiscard]] Key text_key(KeyText text, Field member, std::string allowed) {
  const auto field = access_to(member);
  Key key = key_of<Field>(std::move(text), "text", std::move(allowed));
  key.set = [field](const YamlNode& node, JobSpec& job) {
    return read_text(node).put_into(field(job));
  };
  key.get = [field](const JobSpec& job) { return quoted_if_needed(field(job)); };
  return key;
}

/// Makes a key for `auto` or a whole number; the field has `automatic` for auto.
template <typename Field>
[[nodiscard]] Key auto_or_whole_key(std::string path, std::string unit, Field member,
                                    WholeBounds bounds, std::string description,
                                    std::int64_t automatic = 0) {
  const auto field = access_to(member);
  Key key = whole_key(std::move(path), std::move(unit), member, bounds, std::move(description));
  key.type = "auto or whole number";
  key.set = [field, automatic, set_number = key.set](const YamlNode& node,
                                                     JobSpec& job) -> std::string {
    if (node.kind == YamlNode::Kind::kScalar && node.text == "auto") {
      auto& target = field(job);
      target = static_cast<std::remove_cvref_t<decltype(target)>>(automatic);
      return {};
    }
    return set_number(node, job);
  };
  key.get = [field, automatic](const JobSpec& job) {
    return field(job) == automatic ? std::string("auto") : std::to_string(field(job));
  };
  return key;
}

/// Makes a key for the name of a file, or `none`, for which the field is empty. With `none`, the
/// job's fingerprint is the same as before the key existed.
template <typename Field>
[[nodiscard]] Key file_or_none_key(KeyText text, Field member, std::string allowed) {
  const auto field = access_to(member);
  Key key = text_key(std::move(text), member, std::move(allowed));
  key.set = [field, set_text = key.set](const YamlNode& node, JobSpec& job) -> std::string {
    if (node.kind == YamlNode::Kind::kScalar && node.text == "none") {
      field(job).clear();
      return {};
    }
    return set_text(node, job);
  };
  key.get = [field](const JobSpec& job) {
    return field(job).empty() ? std::string("none") : quoted_if_needed(field(job));
  };
  key.is_fingerprinted_at_default = false;
  return key;
}

}  // namespace gangway
