// SPDX-License-Identifier: MIT
#include "coordinator/resume/job_changes.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "job/file/fingerprint.hpp"
#include "job/schema/key.hpp"

namespace gangway::coordinator {
namespace {

constexpr std::size_t kMostNamed = 5;

/// Returns the key's value; nothing if the key does not apply to the job.
std::optional<std::string> value_of(const Key& key, const JobSpec& spec) {
  return key.applies(spec) ? std::optional(key.weighty(spec)) : std::nullopt;
}

/// Returns why a key counts that does not change weights itself.
std::string reason_of(const Key& key) {
  return key.changes_weights ? "" : ", where a schedule ends";
}

}  // namespace

std::string job_changes(const JobSpec& before, const JobSpec& now, std::string_view section) {
  // Rows of a library differ if the library is loaded from another path.
  if (before.training.recipe->name != now.training.recipe->name ||
      before.networks.size() != now.networks.size()) {  // other keys concern other networks
    return kRecipeKey.starts_with(section)
               ? fmt::format("{} {}, was {}", kRecipeKey, now.training.recipe->name,
                             before.training.recipe->name)
               : std::string();
  }
  std::vector<std::string> changes;
  std::vector<std::string> gone;  // keys that no longer apply; named last
  for (const Key& key : key_table(*now.training.recipe)) {
    const bool counts = decides_weights(key, before) || decides_weights(key, now);
    if (key.is_variant || !counts || !key.path.starts_with(section)) {
      continue;
    }
    const auto old_value = value_of(key, before);
    const auto value = value_of(key, now);
    if (value && value != old_value) {
      changes.push_back(fmt::format("{} {}, was {}{}", key.path, *value,
                                    old_value.value_or("not there"), reason_of(key)));
    } else if (!value && old_value) {
      gone.push_back(fmt::format("{} is gone, was {}", key.path, *old_value));
    }
  }
  std::ranges::move(gone, std::back_inserter(changes));
  const std::size_t num_named = std::min(changes.size(), kMostNamed);
  std::string text = fmt::format("{}", fmt::join(std::span(changes).first(num_named), "; "));
  if (num_named < changes.size()) {
    text += fmt::format("; and {} more", changes.size() - num_named);
  }
  return text;
}

}  // namespace gangway::coordinator
