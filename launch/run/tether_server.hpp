// SPDX-License-Identifier: MIT
// Supervisor's end of the tethers (run/tether_protocol.hpp): accepts one connection per rank and
// reports their events. Made before mpirun starts; supervisor's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "run/liveness/greeting_server.hpp"
#include "run/tether_protocol.hpp"

namespace gangway::launch {

/// A rank that has sent its greeting.
struct TetheredRank {
  TetherGreeting said;
  bool is_local = false;  ///< `said.process` is of this boot and namespace: its pid is valid here
};

struct TetherEvents {
  std::function<void(const TetheredRank&)> greeted;
  std::function<void(Rank rank)> heard;
  std::function<void(Rank rank)> settled;
  std::function<void(Rank rank)> gone;
};

class TetherServer {
 public:
  /// Listens until all `ranks` have greeted. @param port  0: any free port. @param networks  of
  /// kEveryHost, for on_networks(). @throws EnvironmentError if no port is free
  TetherServer(BindScope reach, std::uint16_t port, int ranks, std::string_view networks = {});
  TetherServer(const TetherServer&) = delete;
  TetherServer& operator=(const TetherServer&) = delete;

  [[nodiscard]] const GreetingAddress& address() const { return server_.address(); }
  /// As GreetingServer::descriptor().
  [[nodiscard]] int descriptor() const { return server_.descriptor(); }
  void serve(const TetherEvents& events, std::chrono::steady_clock::time_point now);
  /// Tells every rank to leave, including ranks that connect later.
  void order_end();
  /// Returns the ranks with an open connection, by rank.
  [[nodiscard]] const std::map<Rank, TetheredRank>& present() const { return present_; }

 private:
  int ranks_;
  GreetingServer server_;
  std::map<Rank, TetheredRank> present_;
  int num_greeted_ = 0;
  bool is_ending_ = false;
};

}  // namespace gangway::launch
