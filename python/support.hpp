// SPDX-License-Identifier: MIT
// The functions of python/support.py, and the interpreter that has them. The caller holds the
// interpreter's lock (the GIL), but for begin_interpreter. Compute thread only.
#pragma once

#include <string>
#include <utility>

#include <pybind11/pybind11.h>

#include "gan/python/python_library.hpp"

namespace gangway::python {

/// An object of Python's that is let go with the interpreter's lock, wherever that happens.
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

/// Begins the interpreter and loads LibTorch's Python part into it. The lock is free afterwards.
/// @throws EnvironmentError
void begin_interpreter(const gan::PythonStart& start);

/// The function of python/support.py or own_step.py. @pre begin_interpreter
[[nodiscard]] pybind11::object support(const char* name);

/// While it lives a call into the user's files goes on: where it stands is written to standard
/// error once it has taken PythonStart::slow_seconds. A hang shows there before others give up.
class WatchedCall {
 public:
  WatchedCall();
  ~WatchedCall();
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;
};

/// What is to be said of a Python error, in one line; the whole trace is told (PythonStart::tell).
[[nodiscard]] std::string complaint_of(const pybind11::error_already_set& error);

}  // namespace gangway::python
