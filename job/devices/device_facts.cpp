// SPDX-License-Identifier: MIT
#include "job/devices/device_facts.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/quantities.hpp"
#include "job/choices.hpp"
#include "job/schema/yaml_tree.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

/// Sets a fact; returns false if the node is no value of it.
using SetFact = bool (*)(const YamlNode&, DeviceFacts&);

std::optional<std::string> any_text(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

template <typename Value>
std::optional<Value> choice_of(const std::string& text) {
  for (const auto& choice : choices(Value())) {
    if (choice.name == text) {
      return choice.value;
    }
  }
  return std::nullopt;
}

template <auto Member, auto Parse>
bool set_fact(const YamlNode& node, DeviceFacts& facts) {
  const auto value = Parse(node.text);
  if (value) {
    facts.*Member = *value;
  }
  return value.has_value();
}

bool set_contiguous(const YamlNode& node, DeviceFacts& facts) {
  facts.contiguous.clear();
  for (const YamlNode& item : node.items) {
    facts.contiguous.push_back(choice_of<Precision>(item.text).value_or(Precision::kAuto));
  }
  return node.kind == YamlNode::Kind::kSequence &&
         std::ranges::find(facts.contiguous, Precision::kAuto) == facts.contiguous.end();
}

const std::map<std::string, SetFact>& known_facts() {
  static const std::map<std::string, SetFact> all{
      {"gpu", set_fact<&DeviceFacts::match, any_text>},
      {"flag", set_fact<&DeviceFacts::match, any_text>},
      {"speed", set_fact<&DeviceFacts::speed, parse_positive>},
      {"memory", set_fact<&DeviceFacts::memory_bytes, parse_bytes>},
      {"launch", set_fact<&DeviceFacts::launch_seconds, parse_seconds>},
      {"precision", set_fact<&DeviceFacts::precision, choice_of<Precision>>},
      {"contiguous", set_contiguous},
      {"cuda_graph", set_fact<&DeviceFacts::cuda_graph, choice_of<GraphChoice>>},
      {"nccl_ctas", set_fact<&DeviceFacts::nccl_ctas, parse_count>},
      {"bucket", set_fact<&DeviceFacts::bucket_bytes, parse_bytes>}};
  return all;
}

/// Returns `text` in words with a space around each: "H100-80GB" has " H100 ", "RTX A1000" has not.
std::string spaced(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, ' ');
  return " " + text + " ";
}

/// Returns the first kind's facts for which `matches(facts.match)`.
template <typename Matches>
std::optional<DeviceFacts> first_kind(const fs::path& folder, const Matches& matches) {
  for (const std::string& kind : device_kinds(folder)) {
    DeviceFacts facts = read_device(folder, kind);
    if (!facts.match.empty() && matches(facts.match)) {
      return facts;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> device_kinds(const fs::path& folder) {
  std::vector<std::string> kinds;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".yaml") {
      kinds.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(kinds);
  return kinds;
}

DeviceFacts read_device(const fs::path& folder, const std::string& kind) {
  const fs::path file = folder / (kind + ".yaml");
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  const YamlResult yaml = read_yaml(text.str());
  for (const YamlProblem& problem : yaml.problems) {
    throw ConfigError(fmt::format("{}:{}: {}", file.string(), problem.at.line, problem.message));
  }
  DeviceFacts facts{.name = kind};
  for (const YamlEntry& entry : yaml.root.entries) {
    const auto known = known_facts().find(entry.key);
    if (known == known_facts().end() || !known->second(entry.value, facts)) {
      throw ConfigError(fmt::format("{}:{}: {}: no fact of a device, or no value of it",
                                    file.string(), entry.at.line, entry.key));
    }
  }
  return facts;
}

DeviceFacts facts_of_gpu(const fs::path& folder, const Gpu& gpu) {
  const auto known = first_kind(folder, [name = spaced(gpu.name)](const std::string& words) {
    return name.find(spaced(words)) != std::string::npos;
  });
  return known.value_or(
      DeviceFacts{.name = gpu.name.empty() ? "a GPU" : gpu.name,
                  .precision = gpu.multiplies_bf16 ? Precision::kBf16 : Precision::kFp32,
                  .contiguous = {Precision::kFp32}});
}

DeviceFacts facts_of_processor(const fs::path& folder, const Processor& processor) {
  auto known = first_kind(folder, [&](const std::string& flag) {
    return std::ranges::find(processor.flags, flag) != processor.flags.end();
  });
  if (known) {
    known->name = fmt::format("this processor ({})", known->match);
  }
  return known.value_or(DeviceFacts{.name = "this processor"});
}

}  // namespace gangway
