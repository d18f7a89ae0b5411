// SPDX-License-Identifier: MIT
// Commands for a running job, and the answers. No command changes a weight; each takes effect at a
// lease's boundary. Plain values; handled by RunCore::on_command.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "run/control/steering_file.hpp"
#include "run/trace_steps.hpp"

namespace gangway::coordinator {

/// Grants no more steps until a ResumeJob; steps already granted are still trained.
struct PauseJob {};
struct ResumeJob {};
/// Saves the state after the granted steps.
struct SaveCheckpoint {
  bool pin = false;  ///< keep the checkpoint until it is unpinned
};
/// Sets one of settable_keys().
struct SetKey {
  std::string key;    ///< "checkpoint.keep"
  std::string value;  ///< as in a job file
};
/// Traces the steps [begin, end); `begin` 0: as soon as possible, for `end` steps.
struct TraceJob {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TraceDetail detail{};
};
/// Saves the state; the job continues without the named workers.
struct DrainWorkers {
  std::string name;  ///< of a host, or a worker's rank
};
/// Saves the state; the job continues with that number of workers.
struct ResizeJob {
  int workers = 0;
};
/// Saves the state and ends the job with exit code 75.
struct StopJob {};

using Order = std::variant<PauseJob, ResumeJob, SaveCheckpoint, SetKey, TraceJob, DrainWorkers,
                           ResizeJob, StopJob>;

/// Returns the command and its arguments as steering.jsonl records them.
[[nodiscard]] SteeringEvent event_of(const Order& order);

struct Command {
  Order order;
  std::string who;  ///< author: "ann@node-a by unix:"
};

enum class Refusal {
  kNone,     ///< done, or about to be
  kInvalid,  ///< never possible
  kNotNow,   ///< not possible in the job's present state
};

struct CommandAnswer {
  Refusal refusal = Refusal::kNone;
  std::string text;       ///< one line: the effect, or the reason and remedy of a refusal
  std::int64_t step = 0;  ///< steps after which it takes effect
};

}  // namespace gangway::coordinator
