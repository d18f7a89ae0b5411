// SPDX-License-Identifier: MIT
#include "run/liveness/greeting.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/secret.hpp"
#include "base/text/parse_number.hpp"

namespace gangway {
namespace {

constexpr std::string_view kFirstWord = "gangway ";

}  // namespace

std::string address_text(const GreetingAddress& address) {
  return fmt::format("{}:{}:{}", address.hosts, address.port, address.token);
}

std::optional<GreetingAddress> parse_address(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  if (first == 0 || first == last || last + 1 == text.size()) {
    return std::nullopt;
  }
  const auto port = parse_number<std::uint16_t>(text.substr(first + 1, last - first - 1));
  return port ? std::optional(GreetingAddress{.hosts = std::string(text.substr(0, first)),
                                              .port = *port,
                                              .token = std::string(text.substr(last + 1))})
              : std::nullopt;
}

std::string greeting_line(const Greeting& greeting, const std::string& token) {
  return fmt::format("{}{} {}{}{}\n", kFirstWord, token, greeting.rank,
                     greeting.words.empty() ? "" : " ", greeting.words);
}

std::optional<Greeting> parse_greeting(std::string_view line, const std::string& token) {
  const std::string expected = fmt::format("{}{} ", kFirstWord, token);
  if (!line.ends_with('\n') || !is_same_secret(line.substr(0, expected.size()), expected)) {
    return std::nullopt;
  }
  line.remove_prefix(expected.size());
  line.remove_suffix(1);
  const std::size_t end = std::min(line.find(' '), line.size());
  const auto rank = parse_number<int>(line.substr(0, end));
  const std::string_view words = line.substr(std::min(end + 1, line.size()));
  return rank ? std::optional(Greeting{.rank = Rank(*rank), .words = std::string(words)})
              : std::nullopt;
}

}  // namespace gangway
