// SPDX-License-Identifier: MIT
// A device that is not there: it runs a worker's list with the executor, sends and receives real
// messages of the real sizes, and sleeps in the place of work. So many devices can be timed on few
// cores. One thread, which also moves the messages: nothing else may use the transport meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "comm/transport/transport.hpp"
#include "pipeline/costs/costs.hpp"
#include "pipeline/staged/executor.hpp"

namespace gangway::bench {

using Clock = std::chrono::steady_clock;

/// Until `request` is done: looks, and sleeps between looks, so that others have the core.
/// @throws CommError with `what` and the seconds waited, behind `timeout`
void wait_patiently(comm::Transport& transport, comm::RequestId request,
                    std::chrono::milliseconds timeout, const std::string& what);

/// Of a list that has been run.
struct DeviceFigures {
  std::vector<double> starts;  ///< by line, seconds from the common beginning, by the real clock
  double end = 0.0;
  double busy_seconds = 0.0;  ///< slept in the place of work
  std::int64_t sent = 0;      ///< messages, those of exchanges included
  std::int64_t received = 0;  ///< and found to be what the list says
  int peak_stored = 0;        ///< as SimulatedWorker's
  int peak_leaves = 0;
};

class EmulatedDevice final : public pipeline::StageOperations {
 public:
  struct Setup {
    comm::Transport& transport;
    const pipeline::StageSchedule& schedule;
    const pipeline::Costs& costs;
    const PerNetwork<std::string>& names;
    std::chrono::milliseconds timeout{10'000};  ///< of every wait
  };
  /// All of them outlive it.
  explicit EmulatedDevice(const Setup& setup);

  /// Runs the list of the transport's worker, from `beginning` on, which all devices of this host
  /// are given alike. @throws CommError naming the line and whom it waited for
  [[nodiscard]] DeviceFigures run(Clock::time_point beginning);

  void begin(std::size_t line, const pipeline::StageInstruction& what) override;
  void compute(const pipeline::StageInstruction& what) override;
  void open_leaf(const pipeline::StageInstruction& what) override;
  void close_leaf(const pipeline::StageInstruction& /*what*/) override { --leaves_; }
  void arm(const pipeline::StageInstruction& /*what*/) override {}
  void reduce(const pipeline::StageInstruction& what) override;
  void await(const pipeline::StageInstruction& what) override;
  void send(const pipeline::StageInstruction& what) override;
  void receive(const pipeline::StageInstruction& what) override;
  void free(const pipeline::StageInstruction& /*what*/) override {}
  void flush(const pipeline::StageInstruction& what) override;

 private:
  /// What goes before the bytes of a message.
  struct Head {
    pipeline::StageInstruction what;  ///< `operation` and `peer` are those of sending
    std::int64_t sent_at = 0;         ///< nanoseconds of Clock
  };
  struct Outgoing {
    Head head;
    std::vector<comm::RequestId> requests;
  };

  void work(double seconds);
  void sleep_until(Clock::time_point moment);
  void start_message(int peer, comm::MessageTag tag, const pipeline::StageInstruction& what,
                     std::int64_t bytes, Clock::time_point sent_at);
  /// Waits for it; @return when it was sent
  Clock::time_point take_message(int peer, comm::MessageTag tag,
                                 const pipeline::StageInstruction& what, std::int64_t bytes);
  /// The device has something since `due`, unless it really came later.
  void go_on_at(Clock::time_point due);
  [[nodiscard]] Clock::time_point stamp() const;
  void poll_sends();
  [[nodiscard]] std::vector<int> others_with(const pipeline::StageInstruction& what) const;
  [[nodiscard]] std::string place(const pipeline::StageInstruction& what, int peer) const;

  Setup setup_;
  int worker_;
  std::size_t line_ = 0;
  Clock::time_point beginning_;
  Clock::time_point now_;  ///< the device's: the end of its work, or what it waited for
  std::deque<Outgoing> leaving_;
  std::vector<std::byte> payload_;  ///< of all that it sends: its bytes mean nothing
  std::vector<std::byte> arrived_;
  int stored_ = 0;
  int leaves_ = 0;
  DeviceFigures figures_;
};

}  // namespace gangway::bench
