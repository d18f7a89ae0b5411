// SPDX-License-Identifier: MIT
// The tether: a TCP connection from every rank of a job to the `gangway run` that supervises it.
// `gangway train` opens it before it executes the coordinator or worker, so it exists from a rank's
// first milliseconds to its last. Each end sees the other's death at once, before and after
// MPI_Init, because the kernel closes the connection.
//
// The rank greets (run/liveness/greeting.hpp) with the words "PID TICKS NAMESPACE BOOT JOB HOST".
// These are its ProcessIdentity, Open MPI's number of the job, and its host. Then it sends
// kTetherBeat every kHeartbeatPeriod. It sends kTetherSettled once: a worker when its lifeline
// stands, the coordinator when its event loop runs. After that, a worker owes no beats (the
// coordinator watches it); the coordinator sends beats only while its event loop turns. The
// supervisor sends only kTetherEnd, which tells the rank to leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/index.hpp"
#include "base/process_identity.hpp"

namespace gangway {

inline constexpr char kTetherBeat = '.';
inline constexpr char kTetherSettled = 's';
inline constexpr char kTetherEnd = '!';

/// Environment variable by which `gangway run` passes the tether's address to `gangway train`. An
/// argument of mpirun would show the token to other users.
inline constexpr const char* kTetherVariable = "GANGWAY_TETHER";

/// What a rank reports about itself in its greeting.
struct TetherGreeting {
  Rank rank{};
  ProcessIdentity process;
  std::uint32_t job = 0;  ///< Open MPI's number of the job; 0: unknown
  std::string host;
};

/// Convert to the words of a greeting, and back; nothing if the words are not valid.
[[nodiscard]] std::string tether_words(const TetherGreeting& greeting);
[[nodiscard]] std::optional<TetherGreeting> parse_tether_words(Rank rank, const std::string& words);

}  // namespace gangway
