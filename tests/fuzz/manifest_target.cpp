// SPDX-License-Identifier: MIT
// Reads a manifest. Corrects the seal first, as an attacker would, because nearly no input would
// pass it.
#include <string>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/format/manifest.hpp"
#include "tests/fuzz/target.hpp"

namespace {

namespace store = gangway::checkpoint;

std::string sealed(std::string text) {
  constexpr std::string_view kMember = "\"seal_xxh3_128\": \"";
  const std::size_t found = text.rfind(kMember);
  if (found == std::string::npos || found + kMember.size() + 32 > text.size()) {
    return text;
  }
  const std::size_t place = found + kMember.size();
  text.replace(place, 32, std::string(32, '0'));
  return text.replace(place, 32, gangway::hash_of(text));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  const std::string text = sealed(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const store::Manifest manifest = store::parse_manifest(text, "fuzzed");
    if (manifest.format_version == store::kFormatVersion) {
      const std::string again = store::to_json(manifest);
      if (store::to_json(store::parse_manifest(again, "again")) != again) {
        gangway::fuzz::fail("what was accepted is not what is written");
      }
    }
  } catch (const gangway::CheckpointError&) {
    // A refusal in one line is the expected result.
  }
  return 0;
}
