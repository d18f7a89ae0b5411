// SPDX-License-Identifier: MIT
// Who may look at a run over HTTP. Its owner on the coordinator's host may, and whoever shows the
// run's read token; nobody else sees more than that the program lives. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gangway::coordinator {

/// Who has connected.
enum class Peer {
  kOwner,    ///< a process of the user who trains (or of root), on this host
  kStranger  ///< anybody else, or nobody knows
};

/// What of a request decides; views into it.
struct Credentials {
  std::string_view host;           ///< header Host
  std::string_view authorization;  ///< header Authorization
  std::string_view cookie;         ///< header Cookie
  std::string_view query;          ///< behind the '?', without it
};

enum class Admission {
  kYes,
  kYesByQuery,  ///< the token is in the address, where it is not to stay
  kNoToken,
  kWrongToken,
  kForeignHost  ///< a page of another site whose name was made to lead here (DNS rebinding)
};

/// Over what a browser may send the cookie.
enum class CookieCover { kAnything, kTlsAlone };

class Gate {
 public:
  /// @param token  64 hexadecimal digits
  /// @param cookie  name of the cookie of those who have shown it
  /// @param session  its value, as long: browsers send cookies to every port of a host, so whoever
  /// listens at another one may come to know it, and the token not
  Gate(std::string token, std::string cookie, std::string session)
      : token_(std::move(token)), cookie_(std::move(cookie)), session_(std::move(session)) {}

  [[nodiscard]] Admission admit(Peer peer, const Credentials& credentials) const;
  /// Value of a Set-Cookie header: kept from scripts and from other sites, and where it came over
  /// TLS from what goes in clear.
  [[nodiscard]] std::string set_cookie(CookieCover cover) const;

 private:
  [[nodiscard]] std::string_view cookie_in(std::string_view header) const;

  std::string token_;
  std::string cookie_;
  std::string session_;
};

/// Whether a Host header names this machine as nobody outside can: "localhost", "127.…", "[::1]",
/// with a port or without.
[[nodiscard]] bool is_local_host(std::string_view host);

/// The value of `name` in "a=1&b=2"; no escapes: nothing that is asked for needs any.
[[nodiscard]] std::string_view query_value(std::string_view query, std::string_view name);

}  // namespace gangway::coordinator
