// SPDX-License-Identifier: MIT
// Defines the errors that a process throws, and the exit code that each becomes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gangway {

/// Exit codes of `gangway run`; the status file reports them, too.
enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,        ///< command line, job file or data is wrong: the user can fix it
  kWorkerLost = 3,   ///< a worker died or a peer was silent past its deadline
  kDiverged = 4,     ///< training diverged: docs/divergence.md
  kCheckpoint = 5,   ///< no usable checkpoint, or a checkpoint of another model
  kEnvironment = 6,  ///< MPI, disk, port or GPU failed
  kPreempted = 75,   ///< saved on request; the same command resumes the run (EX_TEMPFAIL)
};

/// Base class of all errors that carry a message for the user. The message names the place and
/// the remedy.
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

/// The machine lacks a resource: MPI, disk space, a port, a device.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(ExitCode::kEnvironment, message) {}
};

/// Training reached a number that is not finite, or outside of a bound that the job sets.
class DivergedError : public Error {
 public:
  /// @param step  steps done when the divergence shows; 0: unknown
  explicit DivergedError(const std::string& message, std::int64_t step = 0)
      : Error(ExitCode::kDiverged, message), step_(step) {}
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }

 private:
  std::int64_t step_;
};

/// Gangway itself has a bug.
class InvariantError : public Error {
 public:
  explicit InvariantError(const std::string& message) : Error(ExitCode::kInternal, message) {}
};

}  // namespace gangway
