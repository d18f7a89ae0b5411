// SPDX-License-Identifier: MIT
// The reports of `gangway bench job` and `gangway bench node` as people read them. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace gangway::launch {

/// A table a part of it. @param report  as bench_job writes it
[[nodiscard]] std::string bench_text(const nlohmann::json& report);
/// One HTML file, which loads nothing: the same, and a bar a number of workers, of the parts of its
/// step.
[[nodiscard]] std::string bench_page(const nlohmann::json& report);
/// Likewise of a whole machine. @param report  as bench_node writes it; parts may be null
[[nodiscard]] std::string node_text(const nlohmann::json& report);
[[nodiscard]] std::string node_page(const nlohmann::json& report);

}  // namespace gangway::launch
