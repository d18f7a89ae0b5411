// SPDX-License-Identifier: MIT
// Sets up the page's TLS with the job's certificate and key. Called on the coordinator's main
// thread; the context is used on the page's.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

namespace gangway::coordinator {

/// Returns a context for TLS 1.2 or newer. Clients need no certificate: the token admits them.
/// @param certificate, key  PEM files; the certificate's chain follows it
/// @throws ConfigError if they are missing, not PEM, or do not belong together
[[nodiscard]] std::unique_ptr<boost::asio::ssl::context> tls_context(const std::string& certificate,
                                                                     const std::string& key);

}  // namespace gangway::coordinator
