// SPDX-License-Identifier: MIT
// Runs code of a user's Python file, and reports its errors in one line. Compute thread.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>

#include "gan/block.hpp"
#include "gan/kernels/own_operators.hpp"
#include "job/blocks/python_spec.hpp"
#include "python/call/support.hpp"

namespace gangway::python {

/// Throws `what` with its place. @throws ConfigError: the key, the file and its class or line
[[noreturn]] void refuse(const PythonSpec& spec, const std::string& what);

/// Whether LibTorch got no memory; worker/memory/out_of_memory.hpp handles that.
[[nodiscard]] bool is_about_memory(const pybind11::error_already_set& error);

/// Calls `body` with the interpreter's lock, and turns its Python errors into refuse(). Restores
/// the process's settings that `body` changed, because they would hold on this worker alone.
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

/// Returns what python/call/support.py needs of a class: folder, texts by file, module, class.
/// Reads the files again and checks the job's hash. The caller holds the interpreter's lock.
/// @throws ConfigError if the hash differs or others can write to a file
[[nodiscard]] pybind11::tuple place_of(const PythonSpec& spec);

/// While it lives, Gangway's kernels compute operators of the user's code where the job and they
/// can. kFirst: an nn.Sequential joins a norm and the activation after it, too. The caller holds
/// the interpreter's lock.
class OwnKernels {
 public:
  explicit OwnKernels(gan::Derivatives derivatives);
  OwnKernels(const OwnKernels&) = delete;
  OwnKernels& operator=(const OwnKernels&) = delete;
  ~OwnKernels();

 private:
  gan::OwnOperators operators_;
  bool joins_norms_;
};

[[nodiscard]] pybind11::object wrapped(const at::Tensor& tensor);
/// Returns the tensor in `object`; nothing if it is no tensor.
[[nodiscard]] std::optional<at::Tensor> unwrapped(const pybind11::handle& object);

}  // namespace gangway::python
