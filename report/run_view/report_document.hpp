// SPDX-License-Identifier: MIT
// What is inside a page that needs no server: the document of a run with its pictures. Called by
// `gangway report`.
#pragma once

#include <cstddef>
#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace gangway::report {

/// Bytes of pictures in one page: as much as a mail takes, or a browser opens at once.
inline constexpr std::size_t kReportPictureBytes = std::size_t{12} << 20U;

/// The document of a run, its pictures as data: URIs. Where they are more than `picture_bytes`, the
/// real examples, the first, the last and evenly spaced others are taken; "pictures_left_out"
/// counts the rest.
[[nodiscard]] nlohmann::ordered_json report_document(
    const std::filesystem::path& run, std::size_t picture_bytes = kReportPictureBytes);

}  // namespace gangway::report
