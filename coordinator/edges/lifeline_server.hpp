// SPDX-License-Identifier: MIT
// The coordinator's end of the lifelines (framing: run/control_protocol.hpp): reports the
// heartbeats of each worker's connection and its end. Runs on the coordinator's event loop.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/mind/membership.hpp"
#include "run/control_protocol.hpp"
#include "run/liveness/greeting_server.hpp"

namespace gangway::coordinator {

/// Called on the event loop with the rank that it concerns.
struct LifelineEvents {
  std::function<void(int)> opened;
  std::function<void(int, Pulse)> heartbeat;
  std::function<void(int)> keeping;     ///< it copies its snapshots, and gets on with that
  std::function<void(int, int)> dying;  ///< rank, number of the signal that ends it
  std::function<void(int)> cut_off;     ///< comes before `closed`
  std::function<void(int)> closed;
};

class LifelineServer {
 public:
  /// Listens for ranks 1 to `num_workers`. @param limits  besides one stranger a worker
  /// @throws EnvironmentError when the port is in use.
  LifelineServer(boost::asio::io_context& io, GreetingPlace place, int num_workers,
                 StrangerLimits limits = {});
  LifelineServer(const LifelineServer&) = delete;
  LifelineServer& operator=(const LifelineServer&) = delete;

  void start(LifelineEvents events);

  /// As of GreetingServer.
  [[nodiscard]] const GreetingAddress& address() const { return server_.address(); }

  /// All have done their part: lets the workers, who wait for it, go on to MPI_Finalize.
  void close_all() { server_.shut_down(); }
  /// Tells every connected worker that the event loop turns. Never waits.
  void beat() { server_.send_to_all(kHeartbeat); }
  /// Tells every connected worker to end at once. @param keep  once its snapshots are on the disk
  void abandon_all(bool keep) { server_.send_to_all(keep ? kAbandon : kAbandonAsIs); }
  [[nodiscard]] bool is_open(int rank) const { return server_.has(rank); }

 private:
  void wait();
  void serve();
  void hear(int rank, std::string_view bytes);

  GreetingServer server_;
  boost::asio::posix::stream_descriptor descriptor_;  // the server's, borrowed
  boost::asio::steady_timer timer_;
  LifelineEvents events_;
  GreetingEvents greetings_;
  std::map<int, Pulse> pulses_;  // by rank, as it said last
};

}  // namespace gangway::coordinator
