// SPDX-License-Identifier: MIT
// A Python file whose imports are looked for, without its being run.
#include <string>

#include "python/read/python_sources.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  for (const std::string& name :
       gangway::imports_in(std::string(reinterpret_cast<const char*>(data), size))) {
    if (name.size() > size) {
      gangway::fuzz::fail("a name that the text has not");
    }
  }
  return 0;
}
