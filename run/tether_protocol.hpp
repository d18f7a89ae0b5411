// SPDX-License-Identifier: MIT
// The tether: a TCP connection from every rank of a job to the `gangway run` that supervises it.
// `gangway train` opens it before it becomes the coordinator or a worker, so that from a rank's
// first milliseconds to its last the supervisor sees its end at once, and it the supervisor's: the
// kernel closes the connection, whatever killed either, before MPI_Init as well as after.
//
// The rank begins: "gangway-tether TOKEN RANK PID TICKS NAMESPACE BOOT JOB HOST\n" (what tells the
// process from all others, base/process_identity.hpp; JOB: Open MPI's number of the job), and is
// answered with one byte kTetherWelcome. Then it sends kTetherBeat every kHeartbeatPeriod
// and, once, kTetherSettled: a worker when its lifeline stands, the coordinator when its event loop
// runs. From then on a worker owes no beats (the coordinator looks after it), and the coordinator's
// come only while its event loop turns. The supervisor sends nothing but kTetherEnd: leave.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/process_identity.hpp"

namespace gangway {

inline constexpr char kTetherWelcome = '+';
inline constexpr char kTetherBeat = '.';
inline constexpr char kTetherSettled = 's';
inline constexpr char kTetherEnd = '!';
inline constexpr std::size_t kMaxTetherGreeting = 512;

/// Environment variable in which `gangway run` tells `gangway train` where to connect. No argument
/// of mpirun: other users could read the token there.
inline constexpr const char* kTetherVariable = "GANGWAY_TETHER";

/// Where the supervisor listens.
struct TetherAddress {
  std::string hosts;  ///< numeric, comma-separated
  std::uint16_t port = 0;
  std::string token;
};

/// What a rank says of itself.
struct TetherGreeting {
  int rank = 0;
  ProcessIdentity process;
  std::uint32_t job = 0;  ///< Open MPI's number of it; 0: unknown
  std::string host;
};

/// As the variable's value, and back; nothing: it is none.
[[nodiscard]] std::string tether_text(const TetherAddress& address);
[[nodiscard]] std::optional<TetherAddress> parse_tether(std::string_view text);

/// As the first line, with its end, and back; nothing: it is none, or of somebody without the
/// token.
[[nodiscard]] std::string greeting_line(const TetherGreeting& greeting, const std::string& token);
[[nodiscard]] std::optional<TetherGreeting> parse_greeting(std::string_view line,
                                                           const std::string& token);

}  // namespace gangway
