// SPDX-License-Identifier: MIT
#include "launch/run/tether_server.hpp"

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
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "base/secret.hpp"
#include "base/this_host.hpp"

namespace gangway::launch {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

// A rank greets as it connects. Whoever says nothing for as long is none.
constexpr std::chrono::seconds kGreetingLimit{2};
// More connections than ranks: strangers', and a rank's over a second network. So many that a rank
// has the time to greet while strangers come as fast as they can, each in the place of the oldest.
constexpr std::size_t kSpareConnections = 1'024;
// In one turn: what else the supervisor looks after comes between.
constexpr int kMostAtOnce = 4'096;
constexpr const char* kLoopback = "127.0.0.1";
constexpr int kPortTries = 20;  // a port that is free at one address may be taken at the next

/// Of the networks between the hosts, for ranks try them at once; loopback last.
std::vector<std::string> addresses_for(TetherReach reach, std::string_view networks) {
  std::vector<std::string> addresses;
  if (reach == TetherReach::kEveryHost) {
    for (const OwnAddress& own : on_networks(own_addresses(), networks)) {
      addresses.push_back(own.address);
    }
  }
  addresses.emplace_back(kLoopback);
  return addresses;
}

FileDescriptor listen_at(const std::string& host, std::uint16_t& port) {
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
    throw EnvironmentError(fmt::format(
        "port {} of {} for the ranks' tethers: {}: free it, or choose another --lifeline-port",
        port, host, std::strerror(errno)));
  }
  port = ntohs(address.sin_port);
  return socket;
}

bool is_of_this_host(const ProcessIdentity& process) {
  const ProcessIdentity self = own_process();
  return process.boot_id == self.boot_id && process.pid_namespace == self.pid_namespace;
}

}  // namespace

struct TetherServer::Connection {
  FileDescriptor socket;
  TimePoint since;
  std::uint64_t number = 0;  ///< of those accepted
  std::string line;          ///< of the greeting, as far as it has come
  int rank = -1;             ///< -1: has not greeted
};

TetherServer::TetherServer(TetherReach reach, std::uint16_t port, int ranks,
                           std::string_view networks)
    : ranks_(ranks), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  const std::vector<std::string> addresses = addresses_for(reach, networks);
  address_ = {
      .hosts = fmt::format("{}", fmt::join(addresses, ",")), .port = port, .token = new_secret()};
  for (int attempt = 1;; ++attempt) {
    try {
      listen(addresses);
      return;
    } catch (const EnvironmentError&) {
      if (port != 0 || attempt == kPortTries) {
        throw;
      }
      address_.port = 0;
    }
  }
}

/// The same port at all addresses.
void TetherServer::listen(const std::vector<std::string>& addresses) {
  listeners_.clear();
  for (const std::string& address : addresses) {
    listeners_.push_back(listen_at(address, address_.port));
  }
  for (const FileDescriptor& listener : listeners_) {
    // Told once of each newcomer: one that cannot be accepted now must not keep this thread awake.
    watch(listener.get(), EPOLLIN | EPOLLET);
  }
}

TetherServer::~TetherServer() = default;

void TetherServer::watch(int descriptor, std::uint32_t how) {
  epoll_event event{.events = how, .data = {.fd = descriptor}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw EnvironmentError(fmt::format("no descriptors for the ranks' tethers: {}: raise ulimit -n",
                                       std::strerror(errno)));
  }
}

/// Nobody stays out because others have come first: the oldest who has said nothing goes.
void TetherServer::accept(const TetherEvents& events, TimePoint now) {
  for (std::size_t at = 0; at < listeners_.size(); ++at) {  // which may end as the last rank comes
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
      if (!has_warned_) {
        has_warned_ = true;
        std::cerr << "warn  connections of ranks cannot be accepted: " << std::strerror(error)
                  << ": raise ulimit -n" << std::endl;
      }
      if (strangers_.empty()) {
        break;  // tried again at the next turn
      }
      drop(strangers_.begin()->second);
    }
  }
}

void TetherServer::take_in(FileDescriptor socket, const TetherEvents& events, TimePoint now) {
  if (strangers_.size() >= static_cast<std::size_t>(ranks_) + kSpareConnections) {
    drop(strangers_.begin()->second);
  }
  const int descriptor = socket.get();
  watch(descriptor, EPOLLIN);
  strangers_[++num_accepted_] = descriptor;
  Connection& taken =
      connections_
          .emplace(descriptor,
                   Connection{.socket = std::move(socket), .since = now, .number = num_accepted_})
          .first->second;
  if (!read(taken, events)) {  // a rank's greeting is often there already
    end(descriptor, events);
  }
}

void TetherServer::drop(int descriptor) {
  const auto found = connections_.find(descriptor);
  strangers_.erase(found->second.number);
  connections_.erase(found);
}

void TetherServer::drop_silent(TimePoint now) {
  while (!strangers_.empty() &&
         now - connections_.at(strangers_.begin()->second).since >= kGreetingLimit) {
    drop(strangers_.begin()->second);
  }
}

void TetherServer::end(int descriptor, const TetherEvents& events) {
  const int rank = connections_.at(descriptor).rank;
  drop(descriptor);
  if (rank >= 0) {
    present_.erase(rank);
    events.gone(rank);
  }
}

bool TetherServer::greet(Connection& connection, const TetherEvents& events) {
  const auto said = parse_greeting(connection.line, address_.token);
  // A rank that came over two networks keeps the first; whoever does not know the token is dropped
  // without a word.
  if (!said || said->rank < 0 || said->rank >= ranks_ || present_.contains(said->rank)) {
    return false;
  }
  connection.rank = said->rank;
  strangers_.erase(connection.number);
  const TetheredRank rank{.said = *said, .is_local = is_of_this_host(said->process)};
  present_.emplace(said->rank, rank);
  (void)!::send(connection.socket.get(), &kTetherWelcome, 1, MSG_NOSIGNAL);
  events.greeted(rank);
  if (++num_greeted_ == ranks_) {
    listeners_.clear();  // nobody else is expected
  }
  return true;
}

bool TetherServer::read(Connection& connection, const TetherEvents& events) {
  std::array<char, 256> bytes{};
  for (;;) {
    const ssize_t size = ::recv(connection.socket.get(), bytes.data(), bytes.size(), 0);
    if (size <= 0) {
      return size < 0 && (errno == EAGAIN || errno == EINTR);
    }
    std::string_view text(bytes.data(), static_cast<std::size_t>(size));
    if (connection.rank < 0) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      connection.line += text.substr(0, end);
      text.remove_prefix(end);
      const bool is_complete = connection.line.ends_with('\n');
      if ((is_complete && !greet(connection, events)) ||
          (!is_complete && connection.line.size() > kMaxTetherGreeting)) {
        return false;
      }
    }
    if (connection.rank >= 0 && !text.empty()) {
      events.heard(connection.rank);
      if (text.find(kTetherSettled) != std::string_view::npos) {
        events.settled(connection.rank);
      }
    }
  }
}

void TetherServer::serve(const TetherEvents& events, TimePoint now) {
  drop_silent(now);
  accept(events, now);
  std::array<epoll_event, 64> ready{};
  const int count =
      ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), /*timeout=*/0);
  for (int i = 0; i < count; ++i) {
    const int descriptor = ready.at(static_cast<std::size_t>(i)).data.fd;
    const auto found = connections_.find(descriptor);
    if (found != connections_.end() && !read(found->second, events)) {
      end(descriptor, events);
    }
  }
}

void TetherServer::order_end() {
  for (const auto& [descriptor, connection] : connections_) {
    (void)!::send(descriptor, &kTetherEnd, 1, MSG_NOSIGNAL);
  }
}

}  // namespace gangway::launch
