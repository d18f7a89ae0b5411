// SPDX-License-Identifier: MIT
#include "run/tether_protocol.hpp"

#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace gangway {
std::string tether_words(const TetherGreeting& greeting) {
  const ProcessIdentity& process = greeting.process;
  return fmt::format("{} {} {} {} {} {}", process.pid, process.start_ticks, process.pid_namespace,
                     process.boot_id, greeting.job, greeting.host);
}

std::optional<TetherGreeting> parse_tether_words(Rank rank, const std::string& words) {
  std::istringstream parts(words);
  TetherGreeting greeting{.rank = rank, .process = {}, .host = {}};
  ProcessIdentity& process = greeting.process;
  parts >> process.pid >> process.start_ticks >> process.pid_namespace >> process.boot_id >>
      greeting.job >> greeting.host;
  return parts && parts.eof() ? std::optional(std::move(greeting)) : std::nullopt;
}

}  // namespace gangway
