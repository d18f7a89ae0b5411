// SPDX-License-Identifier: MIT
// A message between coordinator and workers: anybody on the network may send one.
#include <string>
#include <string_view>

#include "base/errors.hpp"
#include "run/messages/codec.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const std::string said =
        gangway::messages::encode(gangway::messages::decode(bytes, gangway::Rank(1)));
    if (gangway::messages::encode(gangway::messages::decode(said, gangway::Rank(1))) != said) {
      gangway::fuzz::fail("a message that is another one when it is said again");
    }
  } catch (const gangway::Error&) {
    // A refusal with its line is what is asked for.
  }
  return 0;
}
