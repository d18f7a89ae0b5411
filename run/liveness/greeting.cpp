// SPDX-License-Identifier: MIT
#include "run/liveness/greeting.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/secret.hpp"

namespace gangway {
namespace {

constexpr std::string_view kFirstWord = "gangway ";

template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string address_text(const GreetingAddress& address) {
  return fmt::format("{}:{}:{}", address.hosts, address.port, address.token);
}

std::optional<GreetingAddress> parse_address(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t last = text.rfind(':');
  GreetingAddress address;
  if (first == 0 || first == last || last + 1 == text.size() ||
      !read(text.substr(first + 1, last - first - 1), address.port)) {
    return std::nullopt;
  }
  address.hosts = text.substr(0, first);
  address.token = text.substr(last + 1);
  return address;
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
  Greeting greeting;
  if (!read(line.substr(0, end), greeting.rank)) {
    return std::nullopt;
  }
  greeting.words = line.substr(std::min(end + 1, line.size()));
  return greeting;
}

}  // namespace gangway
