// SPDX-License-Identifier: MIT
// Decides which HTTP clients may view a run: its owner on the coordinator's host, and clients with
// the run's read token. Other clients only see that the program is alive. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gangway::coordinator {

/// Kind of client.
enum class Peer {
  kOwner,    ///< a process of the job's user (or of root) on this host
  kStranger  ///< any other or unknown process
};

/// The parts of a request that decide its admission; views into it.
struct Credentials {
  std::string_view host;           ///< header Host
  std::string_view authorization;  ///< header Authorization
  std::string_view cookie;         ///< header Cookie
  std::string_view query;          ///< text after the '?'
};

enum class Admission {
  kYes,
  kYesByQuery,  ///< admitted by a token in the address, which must not stay there
  kNoToken,     ///< or a wrong one
  kForeignHost  ///< another site's page whose name resolves to here (DNS rebinding)
};

/// Channels over which a browser may send the cookie.
enum class CookieScope { kAnything, kTlsAlone };

class Gate {
 public:
  /// @param token  64 hexadecimal digits
  /// @param cookie  name of the cookie of clients that have sent the token
  /// @param session  the cookie's value, as long as the token. A browser sends it to every port of
  /// a host, so another server may learn it, but not the token
  Gate(std::string token, std::string cookie, std::string session)
      : token_(std::move(token)), cookie_(std::move(cookie)), session_(std::move(session)) {}

  [[nodiscard]] Admission admit(Peer peer, const Credentials& credentials) const;
  /// Returns a Set-Cookie header's value: hidden from scripts and other sites, and with kTlsAlone
  /// not sent without TLS.
  [[nodiscard]] std::string set_cookie(CookieScope scope) const;

 private:
  std::string token_;
  std::string cookie_;
  std::string session_;
};

/// Whether a Host header is a name of this machine that no other host can use: "localhost",
/// "127.…", "[::1]", with or without a port.
[[nodiscard]] bool is_local_host(std::string_view host);

/// Returns the value of `name` in "a=1&b=2". Does not decode escapes: no request needs any.
[[nodiscard]] std::string_view query_value(std::string_view query, std::string_view name);

}  // namespace gangway::coordinator
