// SPDX-License-Identifier: MIT
// A small HTTP/1.1 server (Boost.Beast reads what is asked): GET and HEAD, and Server-Sent Events.
// It bounds what anybody may cost: connections, the length of a request, the time for asking and
// for reading the answer. What is answered is the handler's matter.
//
// All of it happens on the one thread that runs the io_context; nothing waits there.
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

/// Where a WebServer listens, and how.
struct WebPlace {
  HttpAddress address;
  std::uint16_t port_before = 0;  ///< taken where the address leaves the port open, and it is free
  /// Outlives the server; null: all is in clear. Where there is one, what comes in clear is handed
  /// on as such, and its answer is in clear.
  boost::asio::ssl::context* tls = nullptr;
};

class WebServer {
 public:
  /// Listens. @throws EnvironmentError when it cannot.
  WebServer(boost::asio::io_context& io, const WebPlace& place, WebHandler handler,
            WebLimits limits = {});
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  void start();
  [[nodiscard]] std::uint16_t port() const;
  /// The rings of events have something new.
  void pump();
  /// Takes nobody any more, and drops who does not read an event.
  void close();

  [[nodiscard]] std::size_t num_connections() const { return sessions_.size(); }
  [[nodiscard]] std::size_t num_streams() const;
  [[nodiscard]] std::uint64_t num_requests() const { return num_requests_; }
  [[nodiscard]] std::uint64_t num_refused() const { return num_refused_; }

 private:
  void listen(const boost::asio::ip::tcp::endpoint& endpoint);
  void accept();
  void welcome(boost::asio::ip::tcp::socket socket);
  /// Whoever keeps a connection without asking anything, longest. @return whether there was one.
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
  std::uint64_t num_refused_ = 0;  ///< connections for which there was no room
  /// By arrival; shared with the operations under way.
  std::map<std::uint64_t, std::shared_ptr<WebSession>> sessions_;
};

}  // namespace gangway::coordinator
