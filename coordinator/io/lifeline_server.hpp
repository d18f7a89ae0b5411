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

#include "coordinator/core/membership.hpp"
#include "run/control_protocol.hpp"
#include "run/liveness/greeting_server.hpp"

namespace gangway::coordinator {

/// Callbacks on the event loop's thread.
struct LifelineEvents {
  std::function<void(Rank)> opened;
  std::function<void(Rank, Pulse)> heartbeat;
  std::function<void(Rank)> keeping;     ///< the worker makes progress with copying its snapshots
  std::function<void(Rank, int)> dying;  ///< with the number of the signal that ends it
  std::function<void(Rank)> cut_off;     ///< its host acknowledges no packets; precedes `closed`
  std::function<void(Rank)> closed;
};

class LifelineServer {
 public:
  /// Listens for ranks 1 to `num_workers`. @param limits  strangers beyond one per worker
  /// @throws EnvironmentError when the port is in use.
  LifelineServer(boost::asio::io_context& io, GreetingPlace place, int num_workers,
                 StrangerLimits limits = {});
  LifelineServer(const LifelineServer&) = delete;
  LifelineServer& operator=(const LifelineServer&) = delete;

  void start(LifelineEvents events);

  /// Returns the GreetingServer's address.
  [[nodiscard]] const GreetingAddress& address() const { return server_.address(); }

  /// Closes all lifelines: workers wait for that before they call MPI_Finalize.
  void close_all() { server_.shut_down(); }
  /// Sends every connected worker a heartbeat of the event loop. Never waits.
  void beat() { server_.send_to_all(kHeartbeat); }
  /// Tells every connected worker to end at once. @param keep  after saving snapshots to the disk
  void abandon_all(bool keep) { server_.send_to_all(keep ? kAbandon : kAbandonAsIs); }
  [[nodiscard]] bool is_open(Rank rank) const { return server_.has(rank); }

 private:
  void wait();
  void serve();
  void hear(Rank rank, std::string_view bytes);

  GreetingServer server_;
  boost::asio::posix::stream_descriptor descriptor_;  // a copy of server_'s
  boost::asio::steady_timer timer_;
  LifelineEvents events_;
  GreetingEvents greetings_;
  std::map<Rank, Pulse> pulses_;  // last pulse by rank
};

}  // namespace gangway::coordinator
