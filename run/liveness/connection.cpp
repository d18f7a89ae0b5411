// SPDX-License-Identifier: MIT
#include "run/liveness/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/errors.hpp"
#include "base/this_host.hpp"

namespace gangway {
namespace {

using std::chrono::steady_clock;

// Several tries, because a server with too many strangers may drop a rank before its greeting.
constexpr int kTries = 5;

/// A connection attempt to one address.
struct Attempt {
  std::string host;
  FileDescriptor socket;  ///< empty: the attempt failed
  bool has_greeted = false;
  std::string problem;
  int tries = 1;

  void give_up(int error) {
    socket.reset();
    problem = error == 0 ? "no answer" : std::strerror(error);
  }
};

Attempt begin(std::string host, std::uint16_t port) {
  Attempt attempt{.host = std::move(host)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  attempt.socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  if (!attempt.socket || ::inet_pton(AF_INET, attempt.host.c_str(), &address.sin_addr) != 1 ||
      (::connect(attempt.socket.get(), reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)) != 0 &&
       errno != EINPROGRESS)) {
    attempt.give_up(errno);
  }
  return attempt;
}

/// Sends the greeting if the connection stands; gives the attempt up if it failed.
void greet(Attempt& attempt, const std::string& line) {
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  const int on = 1;
  ::setsockopt(attempt.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (error != 0 || ::send(attempt.socket.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
                        static_cast<ssize_t>(line.size())) {
    attempt.give_up(error != 0 ? error : errno);
    return;
  }
  attempt.has_greeted = true;
}

/// Whether the server sent kWelcome. Restarts an attempt that the server dropped.
bool hear(Attempt& attempt, std::uint16_t port) {
  char answer = 0;
  const ssize_t size = ::recv(attempt.socket.get(), &answer, 1, 0);
  if (size == 1 && answer == kWelcome) {
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    return false;
  }
  if (const int tries = attempt.tries; tries < kTries) {
    attempt = begin(std::move(attempt.host), port);
    attempt.tries = tries + 1;
  } else {
    attempt.give_up(0);
  }
  return false;
}

void wait_for_any(const std::vector<Attempt>& attempts, std::chrono::milliseconds limit) {
  std::vector<pollfd> waiting;
  for (const Attempt& attempt : attempts) {
    waiting.push_back({.fd = attempt.socket.get(),  // poll() ignores a negative one
                       .events = static_cast<short>(attempt.has_greeted ? POLLIN : POLLOUT),
                       .revents = 0});
  }
  // A limit below zero (this process was stopped for a moment) would make poll() wait for ever.
  (void)::poll(waiting.data(), waiting.size(), static_cast<int>(std::max(limit, {}).count()) + 1);
}

bool is_ready(const Attempt& attempt) {
  pollfd one{.fd = attempt.socket.get(),
             .events = static_cast<short>(attempt.has_greeted ? POLLIN : POLLOUT),
             .revents = 0};
  return attempt.socket && ::poll(&one, 1, 0) == 1;
}

}  // namespace

FileDescriptor connect_and_greet(const GreetingAddress& address, const Greeting& greeting,
                                 std::chrono::milliseconds limit, std::string_view server) {
  const std::string line = greeting_line(greeting, address.token);
  std::vector<Attempt> attempts;
  for (std::string& host : split_at_commas(address.hosts)) {
    attempts.push_back(begin(std::move(host), address.port));
  }
  const auto end = steady_clock::now() + limit;
  const auto is_open = [](const Attempt& attempt) { return static_cast<bool>(attempt.socket); };
  while (steady_clock::now() < end && std::any_of(attempts.begin(), attempts.end(), is_open)) {
    wait_for_any(attempts,
                 std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()));
    for (Attempt& attempt : attempts) {
      if (!is_ready(attempt)) {
        continue;
      }
      if (!attempt.has_greeted) {
        greet(attempt, line);
      } else if (hear(attempt, address.port)) {
        return std::move(attempt.socket);
      }
    }
  }
  std::string problems;
  for (const Attempt& attempt : attempts) {
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : ", ", attempt.host,
                            attempt.socket ? "no answer" : attempt.problem);
  }
  throw EnvironmentError(fmt::format(
      "rank {} on host {} cannot reach {} at port {} ({}): it has ended, or the port is "
      "closed between the hosts (--lifeline-port chooses it)",
      greeting.rank, host_name(), server, address.port, problems));
}

}  // namespace gangway
