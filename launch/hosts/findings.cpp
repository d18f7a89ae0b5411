// SPDX-License-Identifier: MIT
#include "launch/hosts/findings.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "report/table.hpp"

namespace gangway::launch {

std::string_view health_name(Health health) {
  switch (health) {
    case Health::kGood:
      return "good";
    case Health::kNote:
      return "note";
    case Health::kBad:
      return "bad";
  }
  return "bad";
}

std::string findings_text(const std::vector<Finding>& findings) {
  report::Table table({{.title = "item"}, {.title = "health"}, {.title = "detail"}});
  for (const Finding& finding : findings) {
    table.add_row({finding.item, std::string(health_name(finding.health)), finding.detail});
  }
  return table.text();
}

std::string findings_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"item", finding.item},
                    {"health", health_name(finding.health)},
                    {"detail", finding.detail}});
  }
  return nlohmann::ordered_json{{"healthy", is_healthy(findings)}, {"findings", list}}.dump(2) +
         "\n";
}

bool is_healthy(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.health == Health::kBad; });
}

}  // namespace gangway::launch
