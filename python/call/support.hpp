// SPDX-License-Identifier: MIT
// Starts the Python interpreter and calls the functions of python/call/support.py in it. The caller
// holds the interpreter's lock (the GIL), except for begin_interpreter. Compute thread only.
#pragma once

#include <string>
#include <utility>

#include <pybind11/pybind11.h>

#include "python/open/python_library.hpp"

namespace gangway::python {

/// Owns a Python object; takes the interpreter's lock to release it.
class Kept {
 public:
  Kept() = default;
  explicit Kept(pybind11::object object) : object_(std::move(object)) {}
  Kept(Kept&&) noexcept = default;
  Kept& operator=(Kept&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    if (object_) {
      const pybind11::gil_scoped_acquire lock;
      object_ = {};
    }
  }
  [[nodiscard]] const pybind11::object& get() const { return object_; }

 private:
  pybind11::object object_;
};

/// Starts the interpreter and loads LibTorch's Python part into it. Leaves the lock free.
/// @throws EnvironmentError
void begin_interpreter(const PythonStart& start);

/// Returns PythonStart::has_own_kernels. @pre begin_interpreter
[[nodiscard]] bool has_own_kernels();

/// Returns the function `name` of python/call/support.py or own_step.py. @pre begin_interpreter
[[nodiscard]] pybind11::object support(const char* name);

/// Watches a call into the user's files for its lifetime. Prints the call's place in the file to
/// standard error after PythonStart::slow_seconds, so a hang shows before other workers time out.
class WatchedCall {
 public:
  WatchedCall();
  ~WatchedCall();
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
};

/// Returns a Python error in one line; passes the whole trace to PythonStart::tell.
[[nodiscard]] std::string complaint_of(const pybind11::error_already_set& error);

}  // namespace gangway::python
