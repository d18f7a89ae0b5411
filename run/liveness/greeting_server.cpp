// SPDX-License-Identifier: MIT
#include "run/liveness/greeting_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/errors.hpp"
#include "base/secret.hpp"
#include "base/this_host.hpp"

namespace gangway {
namespace {

// Connections accepted per turn, so that the thread's other work is not delayed.
constexpr int kMostAtOnce = 4'096;
constexpr std::string_view kLoopback = "127.0.0.1";
constexpr int kPortTries = 20;  // a port free at one address may be in use at the next
// Delay before the next accept() when no descriptor is left.
constexpr std::chrono::milliseconds kPause{100};

/// Returns only addresses between the hosts, because ranks try all at once; loopback is last.
std::vector<std::string> addresses_of(const GreetingPlace& place) {
  std::vector<std::string> addresses;
  if (place.reach == BindScope::kEveryHost) {
    for (const OwnAddress& own : on_networks(own_addresses(), place.networks)) {
      addresses.push_back(own.address);
    }
  }
  addresses.emplace_back(kLoopback);
  return addresses;
}

/// @param port  0: any free port; set to the port that was taken
FileDescriptor listen_at(const std::string& host, std::uint16_t& port, const std::string& name) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  (void)::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  socklen_t length = sizeof(address);
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw EnvironmentError(
        fmt::format("port {} of {} for {}: {}: free it, or choose another --lifeline-port", port,
                    host, name, std::strerror(errno)));
  }
  port = ntohs(address.sin_port);
  return socket;
}

}  // namespace

struct GreetingServer::Connection {
  FileDescriptor socket;
  TimePoint since;
  std::uint64_t number = 0;  ///< order of acceptance
  std::string line;          ///< bytes of the greeting so far
  std::optional<Rank> rank;  ///< nothing: not greeted yet
};

GreetingServer::GreetingServer(GreetingPlace place, StrangerLimits limits)
    : place_(std::move(place)), limits_(limits), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  const std::vector<std::string> addresses = addresses_of(place_);
  address_ = {.hosts = fmt::format("{}", fmt::join(addresses, ",")), .token = new_secret()};
  for (int attempt = 1;; ++attempt) {
    try {
      listen(addresses);
      return;
    } catch (const EnvironmentError&) {
      if (place_.port != 0 || attempt == kPortTries) {
        throw;
      }
    }
  }
}

GreetingServer::~GreetingServer() = default;

/// Listens on the same port at all addresses.
void GreetingServer::listen(const std::vector<std::string>& addresses) {
  listeners_.clear();
  address_.port = place_.port;
  for (const std::string& address : addresses) {
    listeners_.push_back(listen_at(address, address_.port, place_.name));
  }
  for (const FileDescriptor& listener : listeners_) {
    // Edge-triggered: a connection that accept() refuses now must not keep the thread awake.
    watch(listener.get(), EPOLLIN | EPOLLET);
  }
}

void GreetingServer::watch(int descriptor, std::uint32_t how) {
  epoll_event event{.events = how, .data = {.fd = descriptor}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw EnvironmentError(fmt::format("no descriptors for {}: {}: raise ulimit -n", place_.name,
                                       std::strerror(errno)));
  }
}

void GreetingServer::accept(const GreetingEvents& events, TimePoint now) {
  retry_at_.reset();
  for (std::size_t at = 0; at < listeners_.size(); ++at) {  // an event may clear listeners_
    for (int i = 0; i < kMostAtOnce && at < listeners_.size(); ++i) {
      FileDescriptor socket(
          ::accept4(listeners_[at].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket) {
        take_in(std::move(socket), events, now);
        continue;
      }
      if (errno == ECONNABORTED || errno == EINTR) {
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      }
      const int error = errno;
      if (!std::exchange(has_warned_, true)) {
        std::cerr << fmt::format("warn  connections for {} cannot be accepted: {}: raise ulimit -n",
                                 place_.name, std::strerror(error))
                  << std::endl;
      }
      if (strangers_.empty()) {
        retry_at_ = now + kPause;
        break;
      }
      drop(strangers_.begin()->second);
    }
  }
}

void GreetingServer::take_in(FileDescriptor socket, const GreetingEvents& events, TimePoint now) {
  if (strangers_.size() >= limits_.most) {
    drop(strangers_.begin()->second);
  }
  const int descriptor = socket.get();
  const auto cut_off = static_cast<unsigned>(place_.cut_off.count());
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &cut_off, sizeof(cut_off));
  watch(descriptor, EPOLLIN);
  strangers_[++num_accepted_] = descriptor;
  Connection& taken = connections_
                          .emplace(descriptor, Connection{.socket = std::move(socket),
                                                          .since = now,
                                                          .number = num_accepted_,
                                                          .line = {},
                                                          .rank = std::nullopt})
                          .first->second;
  read(taken, events);  // the greeting may have arrived already
}

void GreetingServer::drop(int descriptor) {
  const auto found = connections_.find(descriptor);
  strangers_.erase(found->second.number);
  connections_.erase(found);
}

void GreetingServer::drop_silent(TimePoint now) {
  while (!strangers_.empty() &&
         now - connections_.at(strangers_.begin()->second).since >= limits_.greeting) {
    drop(strangers_.begin()->second);
  }
}

void GreetingServer::end(int descriptor, bool is_cut_off, const GreetingEvents& events) {
  const std::optional<Rank> rank = connections_.at(descriptor).rank;
  drop(descriptor);
  if (rank) {
    ranks_.erase(*rank);
    events.gone(*rank, is_cut_off);
  }
}

bool GreetingServer::greet(Connection& connection, const GreetingEvents& events) {
  const auto greeting = parse_greeting(connection.line, address_.token);
  if (!greeting || greeting->rank < place_.first_rank || greeting->rank > place_.last_rank ||
      !ranks_.emplace(greeting->rank, connection.socket.get()).second) {
    return false;
  }
  connection.rank = greeting->rank;
  strangers_.erase(connection.number);
  send(greeting->rank, kWelcome);
  events.greeted(*greeting);
  return true;
}

void GreetingServer::read(Connection& connection, const GreetingEvents& events) {
  const int descriptor = connection.socket.get();
  std::array<char, 256> bytes{};
  for (;;) {
    const ssize_t size = ::recv(descriptor, bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (size <= 0) {
      return end(descriptor, size < 0 && (errno == ETIMEDOUT || errno == EHOSTUNREACH), events);
    }
    std::string_view text(bytes.data(), static_cast<std::size_t>(size));
    if (!connection.rank) {
      const std::size_t line_end = std::min(text.find('\n'), text.size() - 1) + 1;
      connection.line += text.substr(0, line_end);
      text.remove_prefix(line_end);
      const bool is_complete = connection.line.ends_with('\n');
      if (is_complete ? !greet(connection, events) : connection.line.size() > kLongestGreeting) {
        return drop(descriptor);
      }
    }
    if (connection.rank && !text.empty()) {
      events.heard(*connection.rank, text);
    }
  }
}

void GreetingServer::serve(const GreetingEvents& events, TimePoint now) {
  drop_silent(now);
  accept(events, now);
  std::array<epoll_event, 64> ready{};
  const int count =
      ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), /*timeout=*/0);
  for (int i = 0; i < count; ++i) {
    const auto found = connections_.find(ready.at(static_cast<std::size_t>(i)).data.fd);
    if (found != connections_.end()) {
      read(found->second, events);
    }
  }
}

std::optional<GreetingServer::TimePoint> GreetingServer::next_look() const {
  std::optional<TimePoint> next = retry_at_;
  if (!strangers_.empty()) {
    const TimePoint over = connections_.at(strangers_.begin()->second).since + limits_.greeting;
    next = std::min(next.value_or(over), over);
  }
  return next;
}

void GreetingServer::send(Rank rank, char byte) {
  if (const auto found = ranks_.find(rank); found != ranks_.end()) {
    (void)!::send(found->second, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void GreetingServer::send_to_all(char byte) {
  for (const auto& [rank, descriptor] : ranks_) {
    (void)!::send(descriptor, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void GreetingServer::shut_down() {
  for (const auto& [rank, descriptor] : ranks_) {
    ::shutdown(descriptor, SHUT_RDWR);
  }
}

}  // namespace gangway
