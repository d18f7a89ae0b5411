// SPDX-License-Identifier: MIT
#include "gan/data/images/label_list.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"

namespace gangway::data {
namespace {

/// More classes than anybody has; a bound for what is allocated by them.
constexpr std::int64_t kLargestLabel = 1'000'000;

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw ConfigError(fmt::format(
      "{}: {}; wanted is {{\"labels\": [[\"path/of/image.png\", 3], …]}}, or {{\"labels\": null}} "
      "for none: make the file again, or remove it to have the sub-folders as labels",
      name, problem));
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

}  // namespace gangway::data
