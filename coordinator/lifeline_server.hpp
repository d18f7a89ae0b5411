// SPDX-License-Identifier: MIT
// The coordinator's end of the lifelines (framing: job/control_protocol.hpp): accepts each worker's
// connection, and reports heartbeats and the end of the connection, which the kernel closes when
// the process dies. Runs on the coordinator's event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace gangway::coordinator {

enum class Reach { kThisHost, kEveryHost };

/// Called on the event loop with the rank that it concerns.
struct LifelineEvents {
  std::function<void(int)> opened;
  std::function<void(int)> heartbeat;
  std::function<void(int, int)> dying;  ///< rank, number of the signal that ends it
  std::function<void(int)> closed;
};

class LifelineServer {
 public:
  /// Listens. @param port 0: any free one. @param reach whether workers on other hosts are
  /// expected.
  /// @throws EnvironmentError when the port is in use.
  LifelineServer(boost::asio::io_context& io, std::uint16_t port, Reach reach);
  ~LifelineServer();

  void start(LifelineEvents events);

  /// Numeric addresses at which workers may reach this host, comma-separated, best first.
  [[nodiscard]] const std::string& hosts() const { return hosts_; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const std::string& token() const { return token_; }

  /// All have done their part: lets the workers, who wait for it, go on to MPI_Finalize.
  void close_all();
  /// Tells every connected worker that the event loop turns. Never waits.
  void beat();
  /// Tells every connected worker to end at once.
  void abandon_all();
  [[nodiscard]] bool is_open(int rank) const { return sessions_.contains(rank); }

 private:
  class Session;

  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  std::string hosts_;
  std::string token_;
  LifelineEvents events_;
  std::map<int, std::shared_ptr<Session>>
      sessions_;  ///< by rank; shared with the operations under way
};

}  // namespace gangway::coordinator
