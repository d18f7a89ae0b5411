// SPDX-License-Identifier: MIT
// How a rank begins a connection by which others see it live (run/liveness/greeting_server.hpp):
// "gangway TOKEN RANK WORDS\n", answered with one byte kWelcome. WORDS are the kind's own. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace gangway {

inline constexpr char kWelcome = '+';
inline constexpr std::size_t kLongestGreeting = 512;

/// Where a GreetingServer listens.
struct GreetingAddress {
  std::string hosts;  ///< numeric, comma-separated, best first
  std::uint16_t port = 0;
  std::string token;  ///< 64 hexadecimal digits
  static auto fields(auto& it) { return std::tie(it.hosts, it.port, it.token); }
  bool operator==(const GreetingAddress&) const = default;
};

/// "HOSTS:PORT:TOKEN", and back; nothing: it is none.
[[nodiscard]] std::string address_text(const GreetingAddress& address);
[[nodiscard]] std::optional<GreetingAddress> parse_address(std::string_view text);

struct Greeting {
  int rank = 0;
  std::string words = {};  ///< without blanks at its ends
};

/// As the first line, with its end, and back; nothing: it is none, or the token is another.
[[nodiscard]] std::string greeting_line(const Greeting& greeting, const std::string& token);
[[nodiscard]] std::optional<Greeting> parse_greeting(std::string_view line,
                                                     const std::string& token);

}  // namespace gangway
