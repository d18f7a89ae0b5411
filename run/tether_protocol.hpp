// SPDX-License-Identifier: MIT
// The tether: a TCP connection from every rank of a job to the `gangway run` that supervises it.
// `gangway train` opens it before it becomes the coordinator or a worker, so that from a rank's
// first milliseconds to its last the supervisor sees its end at once, and it the supervisor's: the
// kernel closes the connection, whatever killed either, before MPI_Init as well as after.
//
// The rank greets (run/liveness/greeting.hpp) with the words "PID TICKS NAMESPACE BOOT JOB HOST":
// what tells the process from all others, base/process_identity.hpp; JOB: Open MPI's number of the
// job. Then it sends kTetherBeat every kHeartbeatPeriod and, once, kTetherSettled: a worker when
// its lifeline stands, the coordinator when its event loop runs. From then on a worker owes no
// beats (the coordinator looks after it), and the coordinator's come only while its event loop
// turns. The supervisor sends nothing but kTetherEnd: leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/process_identity.hpp"

namespace gangway {

inline constexpr char kTetherBeat = '.';
inline constexpr char kTetherSettled = 's';
inline constexpr char kTetherEnd = '!';

/// Environment variable in which `gangway run` tells `gangway train` where to connect. No argument
/// of mpirun: other users could read the token there.
inline constexpr const char* kTetherVariable = "GANGWAY_TETHER";

/// What a rank says of itself.
struct TetherGreeting {
  int rank = 0;
  ProcessIdentity process;
  std::uint32_t job = 0;  ///< Open MPI's number of it; 0: unknown
  std::string host;
};

/// As words of a greeting, and back; nothing: they are none.
[[nodiscard]] std::string tether_words(const TetherGreeting& greeting);
[[nodiscard]] std::optional<TetherGreeting> parse_tether_words(int rank, const std::string& words);

}  // namespace gangway
