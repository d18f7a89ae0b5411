// SPDX-License-Identifier: MIT
// Running what is in a user's file, and saying in one line what went wrong there. Compute thread.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>

#include "job/blocks/python_spec.hpp"
#include "python/support.hpp"

namespace gangway::python {

/// @throws ConfigError: the key, the file and class or, where Python has said it, the line, `what`
[[noreturn]] void refuse(const PythonSpec& spec, const std::string& what);

/// Memory that LibTorch did not get is the machine's affair (worker/memory/out_of_memory.hpp).
[[nodiscard]] bool is_about_memory(const pybind11::error_already_set& error);

/// Calls `body` with the interpreter's lock, and refuses what it raises. What it sets of the
/// process, by whatever way, is undone: it would hold on this worker alone.
template <typename Body>
auto with_python(const PythonSpec& spec, const Body& body) {
  std::string complaint;
  {
    const pybind11::gil_scoped_acquire lock;
    try {
      const WatchedCall watched;
      const pybind11::object before = support("settings")();
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        support("put_back")(before);
        return;
      } else {
        auto made = body();
        support("put_back")(before);
        return made;
      }
    } catch (const pybind11::error_already_set& error) {
      if (is_about_memory(error)) {
        throw std::bad_alloc();
      }
      complaint = complaint_of(error);
    }
  }
  refuse(spec, complaint);
}

/// What python/support.py wants to know of a class: folder, texts by file, module, class. Read
/// anew, and compared with the job's hash. The caller holds the interpreter's lock.
/// @throws ConfigError also where others can write to a file
[[nodiscard]] pybind11::tuple place_of(const PythonSpec& spec);

[[nodiscard]] pybind11::object wrapped(const at::Tensor& tensor);
/// Nothing: it is no tensor.
[[nodiscard]] std::optional<at::Tensor> unwrapped(const pybind11::handle& object);

}  // namespace gangway::python
