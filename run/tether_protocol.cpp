// SPDX-License-Identifier: MIT
#include "run/tether_protocol.hpp"

#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/secret.hpp"

namespace gangway {
namespace {

constexpr std::string_view kFirstWord = "gangway-tether";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string tether_text(const TetherAddress& address) {
  return fmt::format("{}:{}:{}", address.hosts, address.port, address.token);
}

std::optional<TetherAddress> parse_tether(std::string_view text) {
  const auto parts = split(text, ':');
  TetherAddress address;
  if (parts.size() != 3 || parts[0].empty() || parts[2].empty() || !read(parts[1], address.port)) {
    return std::nullopt;
  }
  address.hosts = parts[0];
  address.token = parts[2];
  return address;
}

std::string greeting_line(const TetherGreeting& greeting, const std::string& token) {
  const ProcessIdentity& process = greeting.process;
  return fmt::format("{} {} {} {} {} {} {} {} {}\n", kFirstWord, token, greeting.rank, process.pid,
                     process.start_ticks, process.pid_namespace, process.boot_id, greeting.job,
                     greeting.host);
}

std::optional<TetherGreeting> parse_greeting(std::string_view line, const std::string& token) {
  if (!line.ends_with('\n')) {
    return std::nullopt;
  }
  line.remove_suffix(1);
  const auto words = split(line, ' ');
  TetherGreeting greeting;
  ProcessIdentity& process = greeting.process;
  if (words.size() != 9 || words[0] != kFirstWord || !is_same_secret(words[1], token) ||
      !read(words[2], greeting.rank) || !read(words[3], process.pid) ||
      !read(words[4], process.start_ticks) || !read(words[7], greeting.job)) {
    return std::nullopt;
  }
  process.pid_namespace = words[5];
  process.boot_id = words[6];
  greeting.host = words[8];
  return greeting;
}

}  // namespace gangway
