// SPDX-License-Identifier: MIT
// What people are told where two workers, or a run and its checkpoint, have other data. Pure; used
// by the Conductor and in the texts of a start.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/format/manifest.hpp"
#include "job/data_files.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

/// "cat/12.png or one between it and dog/1.png"; empty where nothing is known of the files.
[[nodiscard]] std::string first_difference(const DataFiles& one, const DataFiles& other);

/// Why a job ends in which `one` worker has other data than `another`.
[[nodiscard]] std::string other_data(const std::string& one, const std::string& another,
                                     const std::string& first_difference);

/// A line where the data are others than those of the checkpoint, with some of the changed files;
/// else empty. @param since  what `before` is of, if not a checkpoint
[[nodiscard]] std::string data_warning(const checkpoint::Manifest& before,
                                       const messages::Ready& ready,
                                       std::string_view since = "the checkpoint was saved");

}  // namespace gangway::coordinator
