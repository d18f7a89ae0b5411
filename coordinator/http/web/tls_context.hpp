// SPDX-License-Identifier: MIT
// How the page talks TLS: with the certificate and key that a job names. Made on the coordinator's
// main thread, used on the page's.
#pragma once

#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

namespace gangway::coordinator {

/// TLS 1.2 or newer. Nothing is asked of a client: the run's token says who it is.
/// @param certificate, key  PEM files, the certificate's chain behind it
/// @throws ConfigError where they are not there, are no PEM, or do not belong together
[[nodiscard]] std::unique_ptr<boost::asio::ssl::context> tls_context(const std::string& certificate,
                                                                     const std::string& key);

}  // namespace gangway::coordinator
