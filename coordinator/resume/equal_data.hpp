// SPDX-License-Identifier: MIT
// Messages for the user if two workers, or a run and its checkpoint, have different data. Pure;
// used by RunCore and resume/start_texts.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/format/manifest.hpp"
#include "job/data_files.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

/// Returns "cat/12.png or a file between it and dog/1.png"; empty if the files are unknown.
[[nodiscard]] std::string first_difference(const DataFiles& one, const DataFiles& other);

/// Returns why a job ends if worker `one` has other data than worker `another`.
[[nodiscard]] std::string other_data(const std::string& one, const std::string& another,
                                     const std::string& first_difference);

/// Returns a warning with some changed files if the data differ from the checkpoint's; else empty.
/// @param since  names the origin of `before`, if it is not a checkpoint
[[nodiscard]] std::string data_warning(const checkpoint::Manifest& before,
                                       const messages::Ready& ready,
                                       std::string_view since = "the checkpoint was saved");

}  // namespace gangway::coordinator
