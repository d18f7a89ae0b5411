// SPDX-License-Identifier: MIT
// Reads a picture of an archive and measures each part. Called by the data sets that hold files.
// Any thread.
#pragma once

#include <cstddef>

#include "data/archives/image_archive.hpp"
#include "data/images/decode_options.hpp"
#include "data/images/pixels.hpp"
#include "data/times/loader_times.hpp"

namespace gangway::data {

/// Reads and decodes entries()[index]. @throws ConfigError naming the file
[[nodiscard]] Pixels decode_picture(const ImageArchive& archive, std::size_t index,
                                    const DecodeOptions& options, DecodeLedger& ledger);

/// Calls fit_square and adds its time to `ledger`.
[[nodiscard]] Pixels fit_picture(const Pixels& image, int side, DecodeLedger& ledger);

}  // namespace gangway::data
