// SPDX-License-Identifier: MIT
// The coordinator's end of the lifelines (framing: run/control_protocol.hpp): accepts each worker's
// connection, and reports heartbeats and the end of the connection, which the kernel closes when
// the process dies. Runs on the coordinator's event loop.
//
// Whoever connects without the token is a stranger. A stranger costs a descriptor for at most
// StrangerLimits::greeting, and all of them together at most StrangerLimits::most descriptors.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/mind/membership.hpp"

namespace gangway::coordinator {

enum class Reach { kThisHost, kEveryHost };

/// What may connect without being a worker.
struct StrangerLimits {
  std::chrono::milliseconds greeting{5'000};  ///< from the connection to its first line
  std::size_t most = 32;  ///< beside one a worker; one more drops the one that has waited longest
  /// Before the next try where accepting fails, for want of descriptors say.
  std::chrono::milliseconds pause{100};
};

struct LifelinePlace {
  std::uint16_t port = 0;          ///< 0: any free one
  Reach reach = Reach::kThisHost;  ///< whether workers on other hosts are expected
  std::string networks = {};       ///< on_networks(): empty: all of this host's
};

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
  /// Listens. @param num_workers ranks 1 to this may greet.
  /// @throws EnvironmentError when the port is in use.
  LifelineServer(boost::asio::io_context& io, const LifelinePlace& place, int num_workers,
                 StrangerLimits limits = {});
  ~LifelineServer();
  LifelineServer(const LifelineServer&) = delete;
  LifelineServer& operator=(const LifelineServer&) = delete;

  void start(LifelineEvents events);

  /// Numeric addresses at which workers may reach this host, comma-separated, best first; it
  /// listens at no others.
  [[nodiscard]] const std::string& hosts() const { return hosts_; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const std::string& token() const { return token_; }

  /// All have done their part: lets the workers, who wait for it, go on to MPI_Finalize.
  void close_all();
  /// Tells every connected worker that the event loop turns. Never waits.
  void beat();
  /// Tells every connected worker to end at once. @param keep  once its snapshots are on the disk
  void abandon_all(bool keep);
  [[nodiscard]] bool is_open(int rank) const { return sessions_.contains(rank); }

 private:
  class Session;
  /// One address that is listened at.
  struct Listener {
    boost::asio::ip::tcp::acceptor acceptor;
    boost::asio::steady_timer pause;
  };

  void listen(const std::vector<std::string>& addresses, std::uint16_t port);
  void accept(Listener& listener);
  void welcome(boost::asio::ip::tcp::socket socket);
  void drop_oldest_stranger();
  [[nodiscard]] bool is_worker(int rank) const { return rank >= 1 && rank <= num_workers_; }

  boost::asio::io_context& io_;
  int num_workers_;
  StrangerLimits limits_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::string hosts_;
  std::string token_;
  LifelineEvents events_;
  std::uint64_t num_accepted_ = 0;
  /// By arrival, until they have greeted; each lives by the operations under way.
  std::map<std::uint64_t, std::weak_ptr<Session>> strangers_;
  std::map<int, std::shared_ptr<Session>>
      sessions_;  ///< by rank; shared with the operations under way
};

}  // namespace gangway::coordinator
