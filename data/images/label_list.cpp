// SPDX-License-Identifier: MIT
#include "data/images/label_list.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/text/parse_number.hpp"
#include "base/text/utf8.hpp"

namespace gangway::data {
namespace {

/// Largest label; limits the memory allocated for classes.
constexpr std::int64_t kLargestLabel = 1'000'000;

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw ConfigError(fmt::format(
      "{}: {}; wanted is {{\"labels\": [[\"path/of/image.png\", 3], …]}}, or {{\"labels\": null}} "
      "for none: make the file again, or remove it to have the sub-folders as labels",
      name, problem));
}

[[noreturn]] void refuse_label(const std::string& name, std::string_view label) {
  throw ConfigError(fmt::format("{}: '{}' is no label; a whole number from 0 to {} is one", name,
                                shown(label), kLargestLabel));
}

}  // namespace

std::optional<LabelList> parse_label_list(const std::string& text, const std::string& name) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    refuse(name, "is no JSON");
  }
  if (!document.is_object() || !document.contains("labels")) {
    refuse(name, "has no \"labels\"");
  }
  const nlohmann::json& labels = document["labels"];
  if (labels.is_null()) {
    return std::nullopt;
  }
  if (!labels.is_array()) {
    refuse(name, "\"labels\" is no list");
  }
  LabelList list;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const nlohmann::json& entry = labels[i];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
        !entry[1].is_number_integer()) {
      refuse(name,
             fmt::format("entry {} of \"labels\" is no pair of a path and a whole number", i));
    }
    const auto label = entry[1].get<std::int64_t>();
    if (label < 0 || label > kLargestLabel) {
      refuse(name, fmt::format("label {} of {} is not from 0 to {}", label,
                               entry[0].get<std::string>(), kLargestLabel));
    }
    if (!list.emplace(entry[0].get<std::string>(), static_cast<int>(label)).second) {
      refuse(name, fmt::format("{} has two labels", entry[0].get<std::string>()));
    }
  }
  return list;
}

int parse_label(std::string_view text, const std::string& name) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view digits = text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
  const auto label = parse_number<int>(digits);
  if (!label || *label < 0 || *label > kLargestLabel) {
    refuse_label(name, text);
  }
  return *label;
}

std::optional<int> described_label(std::string_view text, const std::string& name) {
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    throw ConfigError(fmt::format("{}: is no JSON; mend it, or leave it out", name));
  }
  if (!document.is_object() || !document.contains("label")) {
    return std::nullopt;
  }
  const nlohmann::json& label = document["label"];
  if (!label.is_number_integer() || label < 0 || label > kLargestLabel) {
    refuse_label(name, label.dump(-1, ' ', true));
  }
  return label.get<int>();
}

}  // namespace gangway::data
