// SPDX-License-Identifier: MIT
// Reads a ZIP of pictures: its list of names, its labels, and the bytes of each picture.
#include <algorithm>

#include "base/errors.hpp"
#include "data/archives/zip_archive.hpp"
#include "tests/fuzz/memory_container.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  const std::string file = gangway::fuzz::path_of(gangway::fuzz::container_of(data, size));
  try {
    const auto zip = gangway::data::open_zip_archive(file);
    const auto& entries = zip->entries();
    if (!std::ranges::is_sorted(entries, {}, &gangway::data::ArchiveEntry::name)) {
      gangway::fuzz::fail("names that are not sorted");
    }
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (std::cmp_not_equal(zip->read(i).size(), entries[i].bytes)) {
        gangway::fuzz::fail("a picture of another size than the list says");
      }
    }
  } catch (const gangway::ConfigError&) {
    // A refusal in one line is the expected result.
  }
  return 0;
}
