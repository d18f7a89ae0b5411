// SPDX-License-Identifier: MIT
// A small HTTP/1.1 server (Boost.Beast parses requests): GET, HEAD and Server-Sent Events. Limits
// each client's connections, request length, and the time for requests and answers. The handler
// makes the answers.
//
// Runs on the one thread that runs the io_context; nothing blocks there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/http/web/web_answer.hpp"
#include "coordinator/http/web/web_limits.hpp"
#include "coordinator/http/web/web_session.hpp"
#include "job/http_address.hpp"

namespace gangway::coordinator {

/// Address and TLS of a WebServer.
struct WebPlace {
  HttpAddress address;
  std::uint16_t port_before = 0;  ///< used if the address names no port and this one is free
  /// Must outlive the server; null: no TLS. With TLS, requests without it reach the handler as
  /// kPlainBesideTls, and their answers are not encrypted.
  boost::asio::ssl::context* tls = nullptr;
};

class WebServer {
 public:
  /// Starts to listen. @throws EnvironmentError if it cannot
  WebServer(boost::asio::io_context& io, const WebPlace& place, WebHandler handler,
            WebLimits limits = {});
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  void start();
  [[nodiscard]] std::uint16_t port() const;
  /// Sends new events of the rings to their readers.
  void pump();
  /// Stops accepting connections; those that exist stay open.
  void close();

  [[nodiscard]] std::size_t num_connections() const { return sessions_.size(); }
  [[nodiscard]] std::size_t num_streams() const;
  [[nodiscard]] std::uint64_t num_requests() const { return num_requests_; }
  [[nodiscard]] std::uint64_t num_refused() const { return num_refused_; }

 private:
  void listen(const boost::asio::ip::tcp::endpoint& endpoint);
  void accept();
  void welcome(boost::asio::ip::tcp::socket socket);
  /// Drops the connection that has been idle longest. @return whether there was one
  bool drop_idlest();
  void sweep();

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  boost::asio::steady_timer sweeper_;
  WebHandler handler_;
  boost::asio::ssl::context* tls_;
  WebLimits limits_;
  std::uint64_t num_accepted_ = 0;
  std::uint64_t num_requests_ = 0;
  std::uint64_t num_refused_ = 0;  ///< connections refused for lack of room
  /// By order of arrival; shared with the operations under way.
  std::map<std::uint64_t, std::shared_ptr<WebSession>> sessions_;
};

}  // namespace gangway::coordinator
