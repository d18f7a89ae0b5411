// SPDX-License-Identifier: MIT
// What `gangway doctor` has found, of this machine or of several, as a table or as JSON. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway::launch {

enum class Health { kGood, kNote, kBad };

struct Finding {
  std::string item;
  Health health = Health::kGood;
  std::string detail;  ///< what is there; for kNote and kBad also the remedy
};

[[nodiscard]] std::string_view health_name(Health health);
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings);
/// One JSON object a line of the table: {"findings": [{"item": …, "health": "good", "detail": …}],
/// "healthy": true}.
[[nodiscard]] std::string findings_json(const std::vector<Finding>& findings);
[[nodiscard]] bool is_healthy(const std::vector<Finding>& findings);

}  // namespace gangway::launch
