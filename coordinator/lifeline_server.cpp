// SPDX-License-Identifier: MIT
#include "coordinator/lifeline_server.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "job/control_protocol.hpp"
#include "job/errors.hpp"

namespace gangway::coordinator {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxFirstLine = 128;
constexpr std::string_view kLoopback = "127.0.0.1";

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// This host's IPv4 addresses, loopback last.
std::string own_addresses() {
  std::string addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      const bool usable = entry->ifa_addr != nullptr && entry->ifa_addr->sa_family == AF_INET &&
                          (entry->ifa_flags & IFF_UP) != 0 &&
                          (entry->ifa_flags & IFF_LOOPBACK) == 0;
      if (!usable) {
        continue;
      }
      const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
      std::array<char, INET_ADDRSTRLEN> text{};
      if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) != nullptr) {
        addresses += std::string(text.data()) + ",";
      }
    }
    freeifaddrs(list);
  }
  return addresses + std::string(kLoopback);
}

}  // namespace

/// One accepted connection.
class LifelineServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(LifelineServer& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)) {}

  void start() {
    boost::asio::async_read_until(
        socket_, boost::asio::dynamic_buffer(line_, kMaxFirstLine), '\n',
        [self = shared_from_this()](const error_code& error, std::size_t length) {
          // Whoever does not know the token is dropped without a word.
          if (!error && self->greet(std::string_view(self->line_).substr(0, length))) {
            self->read();
          }
        });
  }

  void beat() {
    // A full buffer means that the worker does not read: its own silence tells.
    (void)!::send(socket_.native_handle(), &kHeartbeat, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void abandon() {
    error_code ignored;  // a connection that is gone already needs no farewell
    boost::asio::write(socket_, boost::asio::buffer(&kAbandon, 1), ignored);
  }
  /// The worker sees the end of its lifeline at once; the socket itself stays with what reads it.
  void close() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
  }

 private:
  /// "gangway-lifeline TOKEN RANK\n"
  bool greet(std::string_view line) {
    const std::string expected = "gangway-lifeline " + server_.token_ + " ";
    if (!line.starts_with(expected)) {
      return false;
    }
    line.remove_prefix(expected.size());
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rank_);
    if (error != std::errc{} || *end != '\n' || server_.sessions_.contains(rank_)) {
      return false;
    }
    server_.sessions_[rank_] = shared_from_this();
    server_.events_.opened(rank_);
    return true;
  }

  void read() {
    socket_.async_read_some(boost::asio::buffer(bytes_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                              if (error) {
                                self->end();
                                return;
                              }
                              self->take(std::string_view(self->bytes_.data(), size));
                              self->read();
                            });
  }

  void take(std::string_view bytes) {
    server_.events_.heartbeat(rank_);
    for (const char byte : bytes) {
      if (byte > 0 && byte < kEndOfSignals) {
        server_.events_.dying(rank_, byte);
      }
    }
  }

  void end() {
    if (server_.sessions_.erase(rank_) > 0) {
      server_.events_.closed(rank_);
    }
  }

  LifelineServer& server_;
  tcp::socket socket_;
  std::string line_;
  std::array<char, 64> bytes_{};
  int rank_ = 0;
};

LifelineServer::LifelineServer(boost::asio::io_context& io, std::uint16_t port, Reach reach)
    : acceptor_(io), token_(new_token()) {
  const bool local = reach == Reach::kThisHost;
  hosts_ = local ? std::string(kLoopback) : own_addresses();
  const tcp::endpoint endpoint(local ? boost::asio::ip::make_address(std::string(kLoopback))
                                     : boost::asio::ip::address(boost::asio::ip::address_v4::any()),
                               port);
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
    throw EnvironmentError(
        fmt::format("port {} for the workers' lifelines: {}: free it, or leave --lifeline-port out",
                    port, error.message()));
  }
}

LifelineServer::~LifelineServer() = default;

std::uint16_t LifelineServer::port() const { return acceptor_.local_endpoint().port(); }

void LifelineServer::start(LifelineEvents events) {
  events_ = std::move(events);
  accept();
}

void LifelineServer::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) {
      return;
    }
    if (!error) {
      std::make_shared<Session>(*this, std::move(socket))->start();
    }
    accept();
  });
}

void LifelineServer::close_all() {
  for (const auto& [rank, session] : sessions_) {
    session->close();
  }
}

void LifelineServer::beat() {
  for (const auto& [rank, session] : sessions_) {
    session->beat();
  }
}

void LifelineServer::abandon_all() {
  for (const auto& [rank, session] : sessions_) {
    session->abandon();
  }
}

}  // namespace gangway::coordinator
