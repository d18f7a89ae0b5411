// SPDX-License-Identifier: MIT
#include "coordinator/http/web/gate.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/secret.hpp"
#include "base/this_host.hpp"

namespace gangway::coordinator {
namespace {

constexpr std::string_view kBearer = "bearer ";

bool is_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char left, unsigned char right) {
    return std::tolower(left) == std::tolower(right);
  });
}

/// Returns the value of `name` in "a=1<separator>b=2".
std::string_view value_in(std::string_view list, char separator, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    std::string_view pair = list.substr(0, end);
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.starts_with(name) && pair.substr(name.size(), 1) == "=") {
      return pair.substr(name.size() + 1);
    }
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return {};
}

}  // namespace

bool is_local_host(std::string_view host) {
  const bool has_brackets = host.starts_with('[');
  const std::size_t end = has_brackets ? host.find(']') + 1 : host.find(':');
  return is_loopback(host.substr(0, end));
}

std::string_view query_value(std::string_view query, std::string_view name) {
  return value_in(query, '&', name);
}

std::string Gate::set_cookie(CookieScope scope) const {
  return fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict{}", cookie_, session_,
                     scope == CookieScope::kTlsAlone ? "; Secure" : "");
}

Admission Gate::admit(Peer peer, const Credentials& credentials) const {
  std::string_view bearer = credentials.authorization;
  if (is_same_word(bearer.substr(0, kBearer.size()), kBearer)) {
    bearer.remove_prefix(kBearer.size());
  } else {
    bearer = {};
  }
  if (is_same_secret(bearer, token_) ||
      is_same_secret(value_in(credentials.cookie, ';', cookie_), session_)) {
    return Admission::kYes;
  }
  if (is_same_secret(query_value(credentials.query, "token"), token_)) {
    return Admission::kYesByQuery;
  }
  if (peer == Peer::kOwner) {
    return is_local_host(credentials.host) ? Admission::kYes : Admission::kForeignHost;
  }
  return Admission::kNoToken;
}

}  // namespace gangway::coordinator
