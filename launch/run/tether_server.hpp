// SPDX-License-Identifier: MIT
// The supervisor's end of the tethers (run/tether_protocol.hpp): accepts one connection a rank and
// reports what comes and goes on them. Made by the supervisor before mpirun starts; its thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "run/tether_protocol.hpp"

namespace gangway::launch {

enum class TetherReach { kThisHost, kEveryHost };

/// A rank as it has greeted.
struct TetheredRank {
  TetherGreeting said;
  bool is_local = false;  ///< `said.process` is of this boot and namespace: its pid means it here
};

struct TetherEvents {
  std::function<void(const TetheredRank&)> greeted;
  std::function<void(int rank)> heard;
  std::function<void(int rank)> settled;
  std::function<void(int rank)> gone;
};

class TetherServer {
 public:
  /// Listens, until all `ranks` have greeted. @param port 0: any free one.
  /// @param networks  as on_networks(), of kEveryHost. @throws EnvironmentError when there is none.
  TetherServer(TetherReach reach, std::uint16_t port, int ranks, std::string_view networks = {});
  ~TetherServer();
  TetherServer(const TetherServer&) = delete;
  TetherServer& operator=(const TetherServer&) = delete;

  [[nodiscard]] const TetherAddress& address() const { return address_; }
  /// Can be polled for reading: then there is something to serve.
  [[nodiscard]] int descriptor() const { return epoll_.get(); }
  /// Takes in everything that has come. Never waits.
  void serve(const TetherEvents& events, std::chrono::steady_clock::time_point now);
  /// Tells every rank to leave.
  void order_end();
  /// Those whose connection stands, by rank.
  [[nodiscard]] const std::map<int, TetheredRank>& present() const { return present_; }

 private:
  struct Connection;

  void listen(const std::vector<std::string>& addresses);
  void accept(const TetherEvents& events, std::chrono::steady_clock::time_point now);
  void take_in(FileDescriptor socket, const TetherEvents& events,
               std::chrono::steady_clock::time_point now);
  void drop_silent(std::chrono::steady_clock::time_point now);
  void drop(int descriptor);
  void end(int descriptor, const TetherEvents& events);
  /// @return false when the connection is over.
  bool read(Connection& connection, const TetherEvents& events);
  bool greet(Connection& connection, const TetherEvents& events);
  void watch(int descriptor, std::uint32_t how);

  int ranks_;
  TetherAddress address_;
  FileDescriptor epoll_;
  std::vector<FileDescriptor> listeners_;
  std::map<int, Connection> connections_;   ///< by descriptor
  std::map<std::uint64_t, int> strangers_;  ///< those that have not greeted; the oldest first
  std::uint64_t num_accepted_ = 0;
  bool has_warned_ = false;
  std::map<int, TetheredRank> present_;
  int num_greeted_ = 0;
};

}  // namespace gangway::launch
