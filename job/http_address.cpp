// SPDX-License-Identifier: MIT
#include "job/http_address.hpp"

#include <array>

#include <arpa/inet.h>

#include "base/text/parse_number.hpp"
#include "base/this_host.hpp"

namespace gangway {
namespace {

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(family, text.c_str(), bytes.data()) == 1;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_number<std::uint16_t>(text);
  return port && *port != 0 ? port : std::nullopt;
}

}  // namespace

bool HttpAddress::is_open_to_others() const { return !is_loopback(host); }

std::optional<HttpAddress> parse_http_address(std::string_view text) {
  HttpAddress address;
  if (const auto port = parse_port(text)) {
    address.port = *port;
    return address;
  }
  std::string_view rest;
  int family = AF_INET;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    family = AF_INET6;
    address.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const std::size_t end = text.find(':');
    address.host = text.substr(0, end);
    rest = end == std::string_view::npos ? "" : text.substr(end);
  }
  if (address.host == "localhost") {
    address.host = "127.0.0.1";
  }
  if (!rest.empty()) {
    const auto port = rest.starts_with(':') ? parse_port(rest.substr(1)) : std::nullopt;
    if (!port) {
      return std::nullopt;
    }
    address.port = *port;
  }
  return is_address(family, address.host) ? std::optional(address) : std::nullopt;
}

}  // namespace gangway
