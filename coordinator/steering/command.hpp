// SPDX-License-Identifier: MIT
// What a person may ask of a running job, and what it answers. Nothing of it changes a weight: it
// takes effect at a lease's boundary. Plain values; taken in by Conductor::on_command.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "run/control/steering_file.hpp"
#include "run/trace_steps.hpp"

namespace gangway::coordinator {

/// No more steps are granted, until a ResumeJob: what is granted already is still trained.
struct PauseJob {};
struct ResumeJob {};
/// The state after the steps that are granted is saved.
struct SaveCheckpoint {
  bool pin = false;  ///< it stays until it is unpinned
};
/// One of settable_keys().
struct SetKey {
  std::string key;    ///< "checkpoint.keep"
  std::string value;  ///< as in a job file
};
/// The steps [begin, end) are traced; `begin` 0: as soon as may be, for `end` steps.
struct TraceJob {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TraceDetail detail{};
};
/// The state is saved, and the job goes on with the other workers.
struct DrainWorkers {
  std::string name;  ///< a host's, or a worker's rank
};
/// The state is saved, and the job goes on with that many workers.
struct ResizeJob {
  int workers = 0;
};
/// Saves, and leaves: exit code 75.
struct StopJob {};

using Order = std::variant<PauseJob, ResumeJob, SaveCheckpoint, SetKey, TraceJob, DrainWorkers,
                           ResizeJob, StopJob>;

/// A command and its arguments, as steering.jsonl has them.
[[nodiscard]] SteeringEvent event_of(const Order& order);

struct Command {
  Order order;
  std::string who;  ///< "ann@node-a by unix:"
};

enum class Refusal {
  kNone,     ///< done, or about to be
  kInvalid,  ///< what was asked can never be
  kNotNow,   ///< not as the job stands
};

struct CommandAnswer {
  Refusal refusal = Refusal::kNone;
  std::string text;       ///< one line: what follows, or why not and what to do
  std::int64_t step = 0;  ///< steps after which it takes effect
};

}  // namespace gangway::coordinator
