// SPDX-License-Identifier: MIT
#include "launch/run/tether_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/errors.hpp"
#include "base/secret.hpp"
#include "base/this_host.hpp"

namespace gangway::launch {
namespace {

using TimePoint = std::chrono::steady_clock::time_point;

// Whoever has connected and says nothing is no rank.
constexpr std::chrono::seconds kGreetingLimit{5};
// More connections than ranks: a stranger's, and a rank's over a second network.
constexpr std::size_t kSpareConnections = 64;
constexpr const char* kLoopback = "127.0.0.1";

/// Of all networks, for ranks try them at once; loopback last.
std::string addresses_for(TetherReach reach) {
  std::string addresses;
  if (reach == TetherReach::kEveryHost) {
    for (const OwnAddress& own : own_addresses()) {
      addresses += own.address + ",";
    }
  }
  return addresses + kLoopback;
}

FileDescriptor listen_at(TetherReach reach, std::uint16_t& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(reach == TetherReach::kThisHost ? INADDR_LOOPBACK : INADDR_ANY);
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  socklen_t length = sizeof(address);
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw EnvironmentError(fmt::format(
        "port {} for the ranks' tethers: {}: free it, or choose another --lifeline-port", port,
        std::strerror(errno)));
  }
  port = ntohs(address.sin_port);
  return socket;
}

/// Both ends have one address: the peer is of this host.
bool is_from_this_host(int socket) {
  sockaddr_in own{};
  sockaddr_in peer{};
  socklen_t length = sizeof(own);
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
         own.sin_addr.s_addr == peer.sin_addr.s_addr;
}

}  // namespace

struct TetherServer::Connection {
  FileDescriptor socket;
  TimePoint since;
  std::string line;  ///< of the greeting, as far as it has come
  int rank = -1;     ///< -1: has not greeted
};

TetherServer::TetherServer(TetherReach reach, std::uint16_t port, int ranks)
    : ranks_(ranks), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  address_ = {.hosts = addresses_for(reach), .port = port, .token = new_secret()};
  listener_ = listen_at(reach, address_.port);
  // Told once of each newcomer: one that cannot be accepted now must not keep this thread awake.
  watch(listener_.get(), EPOLLIN | EPOLLET);
}

TetherServer::~TetherServer() = default;

void TetherServer::watch(int descriptor, std::uint32_t how) {
  epoll_event event{.events = how, .data = {.fd = descriptor}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    throw EnvironmentError(fmt::format("no descriptors for the ranks' tethers: {}: raise ulimit -n",
                                       std::strerror(errno)));
  }
}

void TetherServer::accept(TimePoint now) {
  while (listener_ && connections_.size() < static_cast<std::size_t>(ranks_) + kSpareConnections) {
    FileDescriptor socket(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      return;
    }
    const int descriptor = socket.get();
    watch(descriptor, EPOLLIN);
    connections_.emplace(descriptor, Connection{.socket = std::move(socket), .since = now});
  }
}

void TetherServer::drop_silent(TimePoint now) {
  std::erase_if(connections_, [now](const auto& entry) {
    return entry.second.rank < 0 && now - entry.second.since >= kGreetingLimit;
  });
}

bool TetherServer::greet(Connection& connection, const TetherEvents& events) {
  const auto said = parse_greeting(connection.line, address_.token);
  // A rank that came over two networks keeps the first; whoever does not know the token is dropped
  // without a word.
  if (!said || said->rank < 0 || said->rank >= ranks_ || present_.contains(said->rank)) {
    return false;
  }
  connection.rank = said->rank;
  const TetheredRank rank{.said = *said, .is_local = is_from_this_host(connection.socket.get())};
  present_.emplace(said->rank, rank);
  (void)!::send(connection.socket.get(), &kTetherWelcome, 1, MSG_NOSIGNAL);
  events.greeted(rank);
  if (++num_greeted_ == ranks_) {
    listener_.reset();  // nobody else is expected
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
  accept(now);
  std::array<epoll_event, 64> ready{};
  const int count =
      ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), /*timeout=*/0);
  for (int i = 0; i < count; ++i) {
    const int descriptor = ready.at(static_cast<std::size_t>(i)).data.fd;
    const auto found = connections_.find(descriptor);
    if (found == connections_.end() || read(found->second, events)) {
      continue;
    }
    const int rank = found->second.rank;
    connections_.erase(found);
    if (rank >= 0) {
      present_.erase(rank);
      events.gone(rank);
    }
  }
}

void TetherServer::order_end() {
  for (const auto& [descriptor, connection] : connections_) {
    (void)!::send(descriptor, &kTetherEnd, 1, MSG_NOSIGNAL);
  }
}

}  // namespace gangway::launch
