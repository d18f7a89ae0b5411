// SPDX-License-Identifier: MIT
// The text of a job file with some keys set, everything else as its author wrote it. Pure.
#pragma once

#include <string>
#include <vector>

namespace gangway::launch {

/// @param keys  "layout.buckets=4": put in the place of a value that is there, or beside the keys
/// of its section. What has another form than the usual ones (text in quotes, a list in the place
/// of a section) comes out wrong: whoever calls reads the result, and has a second way.
[[nodiscard]] std::string edited_job(std::string text, const std::vector<std::string>& keys);

}  // namespace gangway::launch
