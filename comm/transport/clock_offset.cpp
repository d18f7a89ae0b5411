// SPDX-License-Identifier: MIT
#include "comm/transport/clock_offset.hpp"

#include <array>
#include <limits>
#include <vector>

#include "comm/transport/pending.hpp"
#include "comm/transport/trace.hpp"

namespace gangway::comm {
namespace {

constexpr int kClockRoundTrips = 16;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(TraceClock::now().time_since_epoch())
      .count();
}

/// Runs one side of the round trips.
class Pings {
 public:
  Pings(Transport& transport, int peer, std::chrono::milliseconds timeout)
      : transport_(transport), peer_(peer), timeout_(timeout) {}

  void answer() {
    for (int trip = 0; trip < kClockRoundTrips; ++trip) {
      receive();
      const std::int64_t came = now();
      times_ = {came, now()};
      send();
    }
  }

  [[nodiscard]] ClockOffset ask() {
    ClockOffset best{.error = std::numeric_limits<std::int64_t>::max()};
    for (int trip = 0; trip < kClockRoundTrips; ++trip) {
      const std::int64_t left = now();
      send();
      receive();
      const std::int64_t back = now();
      const auto [came, answered] = times_;
      const std::int64_t error = ((back - left) - (answered - came) + 1) / 2;
      if (error < best.error) {
        best = {.nanoseconds = ((came - left) + (answered - back)) / 2, .error = error};
      }
    }
    return best;
  }

 private:
  void send() { wait(transport_.start_send(peer_, tag(), std::as_bytes(std::span(times_)))); }
  void receive() {
    wait(transport_.start_receive(peer_, tag(), std::as_writable_bytes(std::span(times_))));
  }
  void wait(RequestId request) {
    pending_.assign(1, {request, peer_});
    wait_all(transport_, pending_, Deadline(timeout_), "its clock, for the trace");
  }
  [[nodiscard]] MessageTag tag() const { return {transport_.epoch(), 0, MessageKind::kClock}; }

  Transport& transport_;
  int peer_;
  std::chrono::milliseconds timeout_;
  std::array<std::int64_t, 2> times_{};
  std::vector<PendingRequest> pending_;
};

}  // namespace

ClockOffset offset_to_first_worker(Transport& transport, std::span<const int> hosts,
                                   std::chrono::milliseconds timeout) {
  const auto me = static_cast<std::size_t>(transport.worker());
  if (me != 0) {
    return hosts[me] == hosts[0] ? ClockOffset{} : Pings(transport, 0, timeout).ask();
  }
  for (std::size_t peer = 1; peer < hosts.size(); ++peer) {
    if (hosts[peer] != hosts[0]) {
      Pings(transport, static_cast<int>(peer), timeout).answer();
    }
  }
  return {};
}

}  // namespace gangway::comm
