// SPDX-License-Identifier: MIT
#include "data/images/style_picture.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "data/images/image_decoder.hpp"
#include "data/images/pixels.hpp"
#include "data/images/resample.hpp"
#include "job/modules/module_files.hpp"

namespace gangway::data {

std::vector<float> read_style_picture(const Job& job) {
  const std::string file = read_style_file(job);
  const std::vector<std::uint8_t> bytes(file.begin(), file.end());
  const int side = job.model.resolution;
  const Pixels picture = decode_image(
      bytes, "training.style.picture: " + job.training.style.picture.file, {.wanted_side = side});
  std::vector<float> values(static_cast<std::size_t>(job.model.channels) *
                            static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
  to_floats(fit_square(picture, side), job.model.channels, values);
  return values;
}

}  // namespace gangway::data
