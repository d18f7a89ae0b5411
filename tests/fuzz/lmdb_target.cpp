// SPDX-License-Identifier: MIT
// An LMDB; its pages may have 512 bytes, so that several are in an input.
#include "base/errors.hpp"
#include "gan/data/archives/lmdb_index.hpp"
#include "tests/fuzz/memory_container.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  const auto& file = gangway::fuzz::container_of(data, size);
  try {
    for (const gangway::data::LmdbValue& value : gangway::data::read_lmdb(file)) {
      gangway::fuzz::require_within(file, value.part);
    }
  } catch (const gangway::ConfigError&) {
    // A refusal with its line is what is asked for.
  }
  return 0;
}
