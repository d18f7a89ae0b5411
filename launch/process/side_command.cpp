// SPDX-License-Identifier: MIT
#include "launch/process/side_command.hpp"

#include <array>

#include <fcntl.h>
#include <unistd.h>

#include "base/system/start_child.hpp"

namespace gangway::launch {

SideCommand::SideCommand(const std::vector<std::string>& words, const sigset_t& signals) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return;
  }
  output_ = FileDescriptor(ends[0]);
  const FileDescriptor write_end(ends[1]);
  process_ = start_child(
      {.words = words, .output = write_end.get(), .errors = write_end.get(), .signals = &signals});
}

std::string SideCommand::said() const {
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t size = 0; (size = ::read(output_.get(), bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace gangway::launch
