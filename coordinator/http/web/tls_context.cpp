// SPDX-License-Identifier: MIT
#include "coordinator/http/web/tls_context.hpp"

#include <boost/asio/buffer.hpp>
#include <fmt/format.h>
#include <openssl/ssl.h>

#include "base/errors.hpp"
#include "run/control/pem_file.hpp"

namespace gangway::coordinator {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

std::unique_ptr<ssl::context> tls_context(const std::string& certificate, const std::string& key) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  (void)SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  (void)SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  // Without this OpenSSL asks for a locked key's password on a terminal that may be unattended.
  context->set_password_callback([](std::size_t /*most*/, auto /*purpose*/) { return ""; });
  error_code error;
  context->use_certificate_chain(boost::asio::buffer(read_pem(certificate)), error);
  if (error) {
    throw ConfigError(fmt::format(
        "output.control_certificate: {} is no certificate in PEM: {}; give the server's, with its "
        "chain behind it",
        certificate, error.message()));
  }
  context->use_private_key(boost::asio::buffer(read_pem(key)), ssl::context::pem, error);
  if (error) {
    throw ConfigError(
        fmt::format("output.control_key: {} is not the key of {} in PEM, without a password: {}; "
                    "give that one",
                    key, certificate, error.message()));
  }
  return context;
}

}  // namespace gangway::coordinator
