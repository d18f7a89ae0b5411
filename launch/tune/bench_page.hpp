// SPDX-License-Identifier: MIT
// The report of `gangway bench job` as people read it. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace gangway::launch {

/// A table a part of it. @param report  as bench_job writes it
[[nodiscard]] std::string bench_text(const nlohmann::json& report);
/// One HTML file, which loads nothing: the same, and a bar a number of workers, of the parts of its
/// step.
[[nodiscard]] std::string bench_page(const nlohmann::json& report);

}  // namespace gangway::launch
