// SPDX-License-Identifier: MIT
// The gangway command: loads no LibTorch, so that it answers in milliseconds.
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "base/system/open_files.hpp"
#include "base/system/told_output.hpp"
#include "launch/commands.hpp"

namespace {

/// One line a problem, each with the program's name.
void complain(std::string_view message) {
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    // In one write: mpirun makes one stream of several hosts' lines.
    std::cerr << "gangway: " + std::string(message.substr(0, end)) + '\n';
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  std::cerr << std::flush;
}

}  // namespace

int main(int argc, char** argv) {
  gangway::raise_open_files();  // for whatever it becomes or starts, too
  try {
    const int code =
        gangway::launch::run_command_line({argv, argv + argc}, gangway::read_environment());
    if (code == 0) {
      gangway::require_output_taken();
    }
    return code;
  } catch (const gangway::Error& error) {
    complain(error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    complain(std::string("internal: ") + error.what());
    return static_cast<int>(gangway::ExitCode::kInternal);
  }
}
