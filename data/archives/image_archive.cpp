// SPDX-License-Identifier: MIT
#include "data/archives/image_archive.hpp"

#include "data/contents/file_contents.hpp"

namespace gangway::data {

std::uint64_t ImageArchive::content_crc(std::size_t index) const {
  const std::optional<std::uint64_t>& known = entries().at(index).crc;
  return known ? *known : crc_of(read(index));
}

}  // namespace gangway::data
