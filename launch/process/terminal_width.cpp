// SPDX-License-Identifier: MIT
#include "launch/process/terminal_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace gangway::launch {

int terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
    return 0;
  }
  return size.ws_col > 0 ? size.ws_col : kUnknownWidth;
}

}  // namespace gangway::launch
