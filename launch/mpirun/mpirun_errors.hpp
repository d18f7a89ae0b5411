// SPDX-License-Identifier: MIT
// mpirun's standard error, which carries that of all ranks: passed on line by line, without Open
// MPI's harmless words. Used by the supervisor, on its thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.hpp"

namespace gangway::launch {

class MpirunErrors {
 public:
  /// @param pipe  mpirun's end of which is its standard error; does not block
  explicit MpirunErrors(FileDescriptor pipe) : pipe_(std::move(pipe)) {}

  /// Can be polled for reading; -1: closed by everybody.
  [[nodiscard]] int descriptor() const { return pipe_.get(); }
  /// Passes on what has come. Never waits.
  void forward();
  /// Passes on the rest of an incomplete line.
  void finish();
  /// From now on nothing is passed on.
  void hush() { is_hushed_ = true; }
  /// The coordinator's exit code, where its disk took no status.
  [[nodiscard]] std::optional<int> unrecorded_code() const { return unrecorded_; }

 private:
  void forward_line(std::string_view line);

  FileDescriptor pipe_;
  std::string rest_;  ///< of a line that is not complete yet
  std::optional<int> unrecorded_;
  bool is_hushed_ = false;
};

}  // namespace gangway::launch
