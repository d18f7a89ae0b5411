// SPDX-License-Identifier: MIT
// Serves one TCP connection per rank, which the kernel closes whenever the rank's process dies.
// Listens, reads a greeting from each connection, and reports ranks that connect, send and go.
// Called by the owners of the workers' lifelines and of all ranks' tethers, each on its own thread.
//
// A connection without a greeting is a stranger. It may last StrangerLimits::greeting; all of them
// hold at most StrangerLimits::most descriptors. A further stranger replaces the oldest one, so
// that strangers keep no rank out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.hpp"
#include "run/liveness/greeting.hpp"

namespace gangway {

enum class BindScope { kThisHost, kEveryHost };

struct GreetingPlace {
  BindScope reach = BindScope::kThisHost;
  std::uint16_t port = 0;     ///< 0: any free one
  std::string networks = {};  ///< for on_networks(), with kEveryHost; empty: all networks
  Rank first_rank{};          ///< only ranks first_rank to last_rank may greet
  Rank last_rank{};
  std::string name;  ///< for messages: "the ranks' tethers"
  /// A host counts as cut off if it acknowledges nothing for so long; 0: the kernel's default.
  std::chrono::milliseconds cut_off{0};
};

struct StrangerLimits {
  std::chrono::milliseconds greeting{5'000};  ///< from accept() to the end of the first line
  std::size_t most = 32;
};

/// Callbacks of serve().
struct GreetingEvents {
  /// A rank without another connection has greeted and got its welcome. Other connections that
  /// greet are dropped without an answer.
  std::function<void(const Greeting& greeting)> greeted;
  std::function<void(Rank rank, std::string_view bytes)> heard;
  /// @param is_cut_off  the rank's host no longer answers
  std::function<void(Rank rank, bool is_cut_off)> gone;
};

class GreetingServer {
 public:
  /// Listens. @throws EnvironmentError if the port is in use or no descriptor is left
  GreetingServer(GreetingPlace place, StrangerLimits limits);
  ~GreetingServer();
  GreetingServer(const GreetingServer&) = delete;
  GreetingServer& operator=(const GreetingServer&) = delete;

  /// Returns all addresses at which it listens, with the server's own token.
  [[nodiscard]] const GreetingAddress& address() const { return address_; }
  /// Returns a descriptor to poll: it is readable when serve() has something to do.
  [[nodiscard]] int descriptor() const { return epoll_.get(); }
  /// Accepts connections, reads all data that has arrived, and drops late strangers. Never waits.
  void serve(const GreetingEvents& events, std::chrono::steady_clock::time_point now);
  /// Returns the time at which serve() must be called even if no data arrives; nothing: never.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> next_look() const;
  /// Closes the listening sockets, because no further rank is expected.
  void stop_listening() { listeners_.clear(); }

  [[nodiscard]] bool has(Rank rank) const { return ranks_.contains(rank); }
  /// Never waits: a full buffer means that the rank does not read; its silence then shows that.
  void send(Rank rank, char byte);
  void send_to_all(char byte);
  /// Shuts down all ranks' connections: they see the end at once; serve() reports each as gone.
  void shut_down();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Connection;

  void listen(const std::vector<std::string>& addresses);
  void watch(int descriptor, std::uint32_t how);
  void accept(const GreetingEvents& events, TimePoint now);
  void take_in(FileDescriptor socket, const GreetingEvents& events, TimePoint now);
  void drop_silent(TimePoint now);
  void drop(int descriptor);
  void end(int descriptor, bool is_cut_off, const GreetingEvents& events);
  /// Reads all data that has arrived; drops or ends the connection if it is over.
  void read(Connection& connection, const GreetingEvents& events);
  [[nodiscard]] bool greet(Connection& connection, const GreetingEvents& events);

  GreetingPlace place_;
  StrangerLimits limits_;
  GreetingAddress address_;
  FileDescriptor epoll_;
  std::vector<FileDescriptor> listeners_;
  std::map<int, Connection> connections_;   ///< by descriptor
  std::map<std::uint64_t, int> strangers_;  ///< descriptors by order of arrival
  std::map<Rank, int> ranks_;               ///< their descriptors
  std::uint64_t num_accepted_ = 0;
  std::optional<TimePoint> retry_at_;  ///< set when accept() failed for want of descriptors
  bool has_warned_ = false;
};

}  // namespace gangway
