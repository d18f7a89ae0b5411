// SPDX-License-Identifier: MIT
#include "data/times/timed_pictures.hpp"

#include <cstdint>
#include <vector>

#include "data/images/image_decoder.hpp"
#include "data/images/resample.hpp"

namespace gangway::data {

Pixels decode_picture(const ImageArchive& archive, std::size_t index, const DecodeOptions& options,
                      DecodeLedger& ledger) {
  const std::vector<std::uint8_t> bytes = archive.read(index);
  Laps laps;
  Pixels image = decode_image(bytes, archive.display_name(index), options);
  ledger.decode_ns.add(laps.lap_ns());
  ledger.bytes.add(static_cast<std::int64_t>(bytes.size()));
  return image;
}

Pixels fit_picture(const Pixels& image, int side, DecodeLedger& ledger) {
  Laps laps;
  Pixels square = fit_square(image, side);
  ledger.fit_ns.add(laps.lap_ns());
  return square;
}

}  // namespace gangway::data
