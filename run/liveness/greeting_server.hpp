// SPDX-License-Identifier: MIT
// Where the ranks of a job keep a TCP connection each: the kernel closes it when a process dies,
// whatever has killed it. Listens, takes the first line of each connection for a greeting, and
// tells of what comes and goes: for the lifelines of workers and the tethers of all ranks. A thread
// of its owner's.
//
// A connection that has not greeted is a stranger's. It costs a descriptor for at most
// StrangerLimits::greeting, and all of them together at most StrangerLimits::most descriptors: one
// more takes the place of the oldest, so that strangers keep no rank out.
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

enum class Reach { kThisHost, kEveryHost };

struct GreetingPlace {
  Reach reach = Reach::kThisHost;
  std::uint16_t port = 0;     ///< 0: any free one
  std::string networks = {};  ///< on_networks(), of kEveryHost; empty: all of this host's
  int first_rank = 0;         ///< of those that may greet
  int last_rank = 0;
  std::string name;  ///< for messages: "the ranks' tethers"
  /// A host that acknowledges nothing that was sent for so long is cut off; 0: as the kernel has
  /// it.
  std::chrono::milliseconds cut_off{0};
};

struct StrangerLimits {
  std::chrono::milliseconds greeting{5'000};  ///< from the connection to its first line
  std::size_t most = 32;
};

/// Called by serve().
struct GreetingEvents {
  /// By a rank that has no other connection, and was welcome. What greets otherwise is dropped
  /// without a word.
  std::function<void(const Greeting& greeting)> greeted;
  std::function<void(int rank, std::string_view bytes)> heard;
  /// @param is_cut_off  its host answers no more
  std::function<void(int rank, bool is_cut_off)> gone;
};

class GreetingServer {
 public:
  /// Listens. @throws EnvironmentError where the port is in use, or there are no descriptors
  GreetingServer(GreetingPlace place, StrangerLimits limits);
  ~GreetingServer();
  GreetingServer(const GreetingServer&) = delete;
  GreetingServer& operator=(const GreetingServer&) = delete;

  /// With a token of its own. It listens at those addresses alone.
  [[nodiscard]] const GreetingAddress& address() const { return address_; }
  /// Can be polled for reading: then there is something to serve.
  [[nodiscard]] int descriptor() const { return epoll_.get(); }
  /// Takes in all that has come, and drops strangers. Never waits.
  void serve(const GreetingEvents& events, std::chrono::steady_clock::time_point now);
  /// When serve() has something to do though nothing comes; nothing: never.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> next_look() const;
  /// No other rank is expected.
  void stop_listening() { listeners_.clear(); }

  [[nodiscard]] bool has(int rank) const { return ranks_.contains(rank); }
  /// Never waits: a full buffer means that the rank does not read, and its own silence tells.
  void send(int rank, char byte);
  void send_to_all(char byte);
  /// Of all ranks: they see the end at once; serve() tells of each.
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
  /// Reads all that has come, and drops or ends the connection where it is over.
  void read(Connection& connection, const GreetingEvents& events);
  [[nodiscard]] bool greet(Connection& connection, const GreetingEvents& events);

  GreetingPlace place_;
  StrangerLimits limits_;
  GreetingAddress address_;
  FileDescriptor epoll_;
  std::vector<FileDescriptor> listeners_;
  std::map<int, Connection> connections_;   ///< by descriptor
  std::map<std::uint64_t, int> strangers_;  ///< by arrival, their descriptors
  std::map<int, int> ranks_;                ///< by rank, its descriptor
  std::uint64_t num_accepted_ = 0;
  std::optional<TimePoint> retry_at_;  ///< a connection could not be accepted
  bool has_warned_ = false;
};

}  // namespace gangway
