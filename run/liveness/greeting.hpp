// SPDX-License-Identifier: MIT
// Encodes and parses the first line of a rank's connection to run/liveness/greeting_server.hpp:
// "gangway TOKEN RANK WORDS\n". The server answers with one byte kWelcome. WORDS depend on the kind
// of connection. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/index.hpp"

namespace gangway {

inline constexpr char kWelcome = '+';
inline constexpr std::size_t kLongestGreeting = 512;

/// The address of a GreetingServer.
struct GreetingAddress {
  std::string hosts;  ///< numeric, comma-separated, best first
  std::uint16_t port = 0;
  std::string token;  ///< 64 hexadecimal digits
  static auto fields(auto& it) { return std::tie(it.hosts, it.port, it.token); }
  bool operator==(const GreetingAddress&) const = default;
};

/// Converts an address to "HOSTS:PORT:TOKEN", and back; nothing if the text is no address.
[[nodiscard]] std::string address_text(const GreetingAddress& address);
[[nodiscard]] std::optional<GreetingAddress> parse_address(std::string_view text);

struct Greeting {
  Rank rank{};
  std::string words = {};  ///< no leading or trailing blanks
};

/// Converts a greeting to its line, with the newline, and back; nothing if the line is no greeting
/// or its token differs.
[[nodiscard]] std::string greeting_line(const Greeting& greeting, const std::string& token);
[[nodiscard]] std::optional<Greeting> parse_greeting(std::string_view line,
                                                     const std::string& token);

}  // namespace gangway
