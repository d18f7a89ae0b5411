// SPDX-License-Identifier: MIT
#include "launch/process/command_output.hpp"

#include <array>
#include <cstdio>

namespace gangway::launch {

CommandOutput output_of(const std::string& command) {
  CommandOutput output;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    return output;
  }
  std::array<char, 512> bytes{};
  while (const std::size_t size = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
    output.text.append(bytes.data(), size);
  }
  output.code = ::pclose(pipe);
  return output;
}

}  // namespace gangway::launch
