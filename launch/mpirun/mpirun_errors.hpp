// SPDX-License-Identifier: MIT
// Forwards mpirun's standard error, which includes that of all ranks, line by line; drops Open
// MPI's harmless messages. Called by the supervisor, on its thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

class MpirunErrors {
 public:
  /// @param pipe  read end of mpirun's standard error; non-blocking
  explicit MpirunErrors(FileDescriptor pipe) : pipe_(std::move(pipe)) {}

  /// Descriptor to poll for reading; -1: all writers have closed it.
  [[nodiscard]] int descriptor() const { return pipe_.get(); }
  /// Forwards the data that has arrived. Does not block.
  void forward();
  /// Forwards the rest of an incomplete line.
  void finish();
  /// Stops forwarding.
  void hush() { is_muted_ = true; }
  /// Exit code of a coordinator that could not write its status to disk.
  [[nodiscard]] std::optional<int> unrecorded_code() const { return unrecorded_; }

 private:
  void forward_line(std::string_view line);

  FileDescriptor pipe_;
  std::string rest_;  ///< of an incomplete line
  std::optional<int> unrecorded_;
  bool is_muted_ = false;
};

}  // namespace gangway::launch
