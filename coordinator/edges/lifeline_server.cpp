// SPDX-License-Identifier: MIT
#include "coordinator/edges/lifeline_server.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/errors.hpp"
#include "base/secret.hpp"
#include "base/this_host.hpp"
#include "run/control_protocol.hpp"

namespace gangway::coordinator {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMaxFirstLine = 128;
constexpr std::string_view kLoopback = "127.0.0.1";
constexpr int kPortTries = 20;  // a port that is free at one address may be taken at the next

std::vector<std::string> addresses_of(const LifelinePlace& place) {
  std::vector<std::string> addresses;
  if (place.reach == Reach::kEveryHost) {
    for (const OwnAddress& own : on_networks(own_addresses(), place.networks)) {
      addresses.push_back(own.address);
    }
  }
  addresses.emplace_back(kLoopback);  // for those on this host, at the last
  return addresses;
}

}  // namespace

/// One accepted connection.
class LifelineServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(LifelineServer& server, tcp::socket socket, std::uint64_t number)
      : server_(server), socket_(std::move(socket)), patience_(server.io_), number_(number) {}

  void start() {
    const unsigned cut_off = kCutOffDeadline.count();
    (void)::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &cut_off,
                       sizeof(cut_off));
    patience_.expires_after(server_.limits_.greeting);
    patience_.async_wait([weak = weak_from_this()](const error_code& error) {
      if (const auto self = error ? nullptr : weak.lock()) {
        self->drop();
      }
    });
    boost::asio::async_read_until(
        socket_, boost::asio::dynamic_buffer(line_, kMaxFirstLine), '\n',
        [self = shared_from_this()](const error_code& error, std::size_t length) {
          self->server_.strangers_.erase(self->number_);
          self->patience_.cancel();
          // Whoever does not know the token is dropped without a word.
          if (!error && self->greet(std::string_view(self->line_).substr(0, length))) {
            self->take(std::string_view(self->line_).substr(length));  // came with the greeting
            self->read();
          }
        });
  }
  /// Gives its descriptor back at once; what reads it ends.
  void drop() {
    error_code ignored;
    socket_.close(ignored);
  }

  void beat() {
    // A full buffer means that the worker does not read: its own silence tells.
    (void)!::send(socket_.native_handle(), &kHeartbeat, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void abandon(bool keep) {
    error_code ignored;  // a connection that is gone already needs no farewell
    const char& farewell = keep ? kAbandon : kAbandonAsIs;
    boost::asio::write(socket_, boost::asio::buffer(&farewell, 1), ignored);
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
    if (!is_same_secret(line.substr(0, expected.size()), expected)) {
      return false;
    }
    line.remove_prefix(expected.size());
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), rank_);
    if (error != std::errc{} || *end != '\n' || !server_.is_worker(rank_) ||
        server_.sessions_.contains(rank_)) {
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
                                self->end(error);
                                return;
                              }
                              self->take(std::string_view(self->bytes_.data(), size));
                              self->read();
                            });
  }

  void take(std::string_view bytes) {
    for (const char byte : bytes) {
      if (byte == kHeartbeat || byte == kHeartbeatInWait || byte == kHeartbeatInStart) {
        pulse_ = byte == kHeartbeatInWait    ? Pulse::kWaits
                 : byte == kHeartbeatInStart ? Pulse::kBegins
                                             : Pulse::kWorks;
      }
      if (byte == kKeeping) {
        server_.events_.keeping(rank_);
      }
      if (byte > 0 && byte < kEndOfSignals) {
        server_.events_.dying(rank_, byte);
      }
    }
    server_.events_.heartbeat(rank_, pulse_);
  }

  void end(const error_code& error) {
    if (server_.sessions_.erase(rank_) == 0) {
      return;
    }
    if (error == boost::asio::error::timed_out || error == boost::asio::error::host_unreachable) {
      server_.events_.cut_off(rank_);
    }
    server_.events_.closed(rank_);
  }

  LifelineServer& server_;
  tcp::socket socket_;
  boost::asio::steady_timer patience_;  ///< for the first line
  std::uint64_t number_;
  std::string line_;
  std::array<char, 64> bytes_{};
  Pulse pulse_ = Pulse::kWorks;  ///< as it said last
  int rank_ = 0;
};

LifelineServer::LifelineServer(boost::asio::io_context& io, const LifelinePlace& place,
                               int num_workers, StrangerLimits limits)
    : io_(io), num_workers_(num_workers), limits_(limits), token_(new_secret()) {
  const std::vector<std::string> addresses = addresses_of(place);
  hosts_ = fmt::format("{}", fmt::join(addresses, ","));
  for (int attempt = 1;; ++attempt) {
    try {
      listen(addresses, place.port);
      return;
    } catch (const EnvironmentError&) {
      if (place.port != 0 || attempt == kPortTries) {
        throw;
      }
    }
  }
}

LifelineServer::~LifelineServer() = default;

/// The same port at all addresses.
void LifelineServer::listen(const std::vector<std::string>& addresses, std::uint16_t port) {
  listeners_.clear();
  for (const std::string& address : addresses) {
    Listener& listener = *listeners_.emplace_back(
        std::make_unique<Listener>(Listener{tcp::acceptor(io_), boost::asio::steady_timer(io_)}));
    tcp::acceptor& acceptor = listener.acceptor;
    const tcp::endpoint endpoint(boost::asio::ip::make_address(address), port);
    error_code error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) {
      acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    }
    if (!error) {
      acceptor.bind(endpoint, error);
    }
    if (!error) {
      acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
    }
    if (error) {
      throw EnvironmentError(fmt::format(
          "port {} of {} for the workers' lifelines: {}: free it, or leave --lifeline-port out",
          port, address, error.message()));
    }
    port = acceptor.local_endpoint().port();
  }
}

std::uint16_t LifelineServer::port() const {
  return listeners_.front()->acceptor.local_endpoint().port();
}

void LifelineServer::start(LifelineEvents events) {
  events_ = std::move(events);
  for (const auto& listener : listeners_) {
    accept(*listener);
  }
}

void LifelineServer::accept(Listener& listener) {
  listener.acceptor.async_accept([this, &listener](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) {
      return;
    }
    if (!error) {
      welcome(std::move(socket));
      accept(listener);
      return;
    }
    // No descriptor is left, perhaps: whoever waits goes on waiting in the kernel's queue.
    drop_oldest_stranger();
    listener.pause.expires_after(limits_.pause);
    listener.pause.async_wait([this, &listener](const error_code& aborted) {
      if (!aborted) {
        accept(listener);
      }
    });
  });
}

void LifelineServer::welcome(tcp::socket socket) {
  // A worker's first line comes with its connection: it does not wait for long.
  if (strangers_.size() >= limits_.most + static_cast<std::size_t>(num_workers_)) {
    drop_oldest_stranger();
  }
  const std::uint64_t number = ++num_accepted_;
  const auto session = std::make_shared<Session>(*this, std::move(socket), number);
  strangers_[number] = session;
  session->start();
}

void LifelineServer::drop_oldest_stranger() {
  if (strangers_.empty()) {
    return;
  }
  const auto oldest = strangers_.begin()->second.lock();
  strangers_.erase(strangers_.begin());
  if (oldest) {
    oldest->drop();
  }
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

void LifelineServer::abandon_all(bool keep) {
  for (const auto& [rank, session] : sessions_) {
    session->abandon(keep);
  }
}

}  // namespace gangway::coordinator
