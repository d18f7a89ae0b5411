// SPDX-License-Identifier: MIT
// A picture of an archive on its way to an example, with what each part of it took. Called by the
// data sets that hold files; any thread.
#pragma once

#include <cstddef>

#include "gan/data/archives/image_archive.hpp"
#include "gan/data/images/decode_options.hpp"
#include "gan/data/images/pixels.hpp"
#include "gan/data/times/loader_times.hpp"

namespace gangway::data {

/// entries()[index] of the archive, read and decoded. @throws ConfigError naming the file
[[nodiscard]] Pixels decode_picture(const ImageArchive& archive, std::size_t index,
                                    const DecodeOptions& options, DecodeLedger& ledger);

/// fit_square
[[nodiscard]] Pixels fit_picture(const Pixels& image, int side, DecodeLedger& ledger);

}  // namespace gangway::data
