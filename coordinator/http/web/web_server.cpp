// SPDX-License-Identifier: MIT
#include "coordinator/http/web/web_server.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/socket.h>

#include "base/errors.hpp"

namespace gangway::coordinator {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAcceptPause{100};  // if no descriptor is left
constexpr std::string_view kNoRoom =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

}  // namespace

WebServer::WebServer(boost::asio::io_context& io, const WebPlace& place, WebHandler handler,
                     WebLimits limits)
    : io_(io),
      acceptor_(io),
      pause_(io),
      sweeper_(io),
      handler_(std::move(handler)),
      tls_(place.tls),
      limits_(limits) {
  const auto host = boost::asio::ip::make_address(place.address.host);
  if (place.address.port == 0 && place.port_before != 0) {
    try {
      listen({host, place.port_before});
      return;
    } catch (const EnvironmentError&) {
      acceptor_ = tcp::acceptor(io_);  // another process uses the port now
    }
  }
  listen({host, place.address.port});
}

WebServer::~WebServer() = default;

void WebServer::listen(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) {
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) {
    acceptor_.bind(endpoint, error);
  }
  if (!error) {
    acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  }
  if (error) {
    throw EnvironmentError(fmt::format(
        "output.http: port {} of {} cannot be listened at: {}: use another one, or auto",
        endpoint.port(), endpoint.address().to_string(), error.message()));
  }
}

std::uint16_t WebServer::port() const { return acceptor_.local_endpoint().port(); }

void WebServer::start() {
  accept();
  sweep();
}

void WebServer::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) {
      return;
    }
    if (!error) {
      welcome(std::move(socket));
      accept();
      return;
    }
    (void)drop_idlest();
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const error_code& aborted) {
      if (!aborted) {
        accept();
      }
    });
  });
}

void WebServer::welcome(tcp::socket socket) {
  if (sessions_.size() >= limits_.connections && !drop_idlest()) {
    ++num_refused_;
    (void)::send(socket.native_handle(), kNoRoom.data(), kNoRoom.size(),
                 MSG_NOSIGNAL | MSG_DONTWAIT);
    return;
  }
  const std::uint64_t number = ++num_accepted_;
  const auto session = std::make_shared<WebSession>(
      std::move(socket), WebSession::Host{.limits = limits_,
                                          .handler = handler_,
                                          .tls = tls_,
                                          .num_requests = num_requests_,
                                          .gone = [this, number] { sessions_.erase(number); }});
  sessions_[number] = session;
  session->start();
}

bool WebServer::drop_idlest() {
  std::shared_ptr<WebSession> idlest;
  for (const auto& [number, session] : sessions_) {
    if (session->is_idle() && (!idlest || session->idle_since() < idlest->idle_since())) {
      idlest = session;
    }
  }
  if (idlest) {
    idlest->drop();
  }
  return idlest != nullptr;
}

void WebServer::pump() {
  for (const auto& [number, session] : sessions_) {
    session->pump();
  }
}

void WebServer::sweep() {
  const auto now = steady_clock::now();
  std::vector<std::shared_ptr<WebSession>> overdue;
  for (const auto& [number, session] : sessions_) {
    if (session->is_overdue(now)) {
      overdue.push_back(session);
    }
  }
  for (const auto& session : overdue) {
    session->drop();
  }
  sweeper_.expires_after(limits_.sweep);
  sweeper_.async_wait([this](const error_code& aborted) {
    if (!aborted) {
      sweep();
    }
  });
}

void WebServer::close() {
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

std::size_t WebServer::num_streams() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [](const auto& entry) { return entry.second->is_stream(); }));
}

}  // namespace gangway::coordinator
