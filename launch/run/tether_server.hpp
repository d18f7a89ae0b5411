// SPDX-License-Identifier: MIT
// The supervisor's end of the tethers (run/tether_protocol.hpp): accepts one connection a rank and
// reports what comes and goes on them. Made by the supervisor before mpirun starts; its thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "run/liveness/greeting_server.hpp"
#include "run/tether_protocol.hpp"

namespace gangway::launch {

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
  TetherServer(Reach reach, std::uint16_t port, int ranks, std::string_view networks = {});
  TetherServer(const TetherServer&) = delete;
  TetherServer& operator=(const TetherServer&) = delete;

  [[nodiscard]] const GreetingAddress& address() const { return server_.address(); }
  /// As of GreetingServer.
  [[nodiscard]] int descriptor() const { return server_.descriptor(); }
  void serve(const TetherEvents& events, std::chrono::steady_clock::time_point now);
  /// Tells every rank to leave, also those that come later.
  void order_end();
  /// Those whose connection stands, by rank.
  [[nodiscard]] const std::map<int, TetheredRank>& present() const { return present_; }

 private:
  int ranks_;
  GreetingServer server_;
  std::map<int, TetheredRank> present_;
  int num_greeted_ = 0;
  bool is_ending_ = false;
};

}  // namespace gangway::launch
