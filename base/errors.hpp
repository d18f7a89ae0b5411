// SPDX-License-Identifier: MIT
// The kinds of failure inside a process, and the exit codes they become at its edge.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gangway {

/// What `gangway run` and the status file report.
enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,        ///< command line, job file, data: the user can mend it
  kWorkerLost = 3,   ///< a worker died or a peer was silent past its deadline
  kDiverged = 4,     ///< training is in trouble: docs/divergence.md
  kCheckpoint = 5,   ///< no usable checkpoint, or one of another model
  kEnvironment = 6,  ///< MPI, disk, port, GPU
  kPreempted = 75,   ///< saved on request; the same command goes on (EX_TEMPFAIL)
};

/// Root of all errors that carry a message for a person. The message names the place and the
/// remedy.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// The user's input is wrong: job file, flag, data.
class ConfigError : public Error {
 public:
  explicit ConfigError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// A peer or the network failed.
class CommError : public Error {
 public:
  explicit CommError(const std::string& message) : Error(ExitCode::kWorkerLost, message) {}
};

/// A checkpoint is missing, damaged, or of another model.
class CheckpointError : public Error {
 public:
  explicit CheckpointError(const std::string& message) : Error(ExitCode::kCheckpoint, message) {}
};

/// The machine lacks something: MPI, space, a port, a device.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(ExitCode::kEnvironment, message) {}
};

/// Training left the finite numbers, or a bound that the job has for them.
class DivergedError : public Error {
 public:
  /// @param step  steps done when it shows; 0: unknown
  explicit DivergedError(const std::string& message, std::int64_t step = 0)
      : Error(ExitCode::kDiverged, message), step_(step) {}
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }

 private:
  std::int64_t step_;
};

/// Our own mistake.
class InvariantError : public Error {
 public:
  explicit InvariantError(const std::string& message) : Error(ExitCode::kInternal, message) {}
};

}  // namespace gangway
