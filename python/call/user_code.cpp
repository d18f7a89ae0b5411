// SPDX-License-Identifier: MIT
#include "python/call/user_code.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <torch/csrc/autograd/python_variable.h>

#include "base/errors.hpp"
#include "python/read/python_sources.hpp"

namespace gangway::python {

namespace fs = std::filesystem;
namespace py = pybind11;

void refuse(const PythonSpec& spec, const std::string& what) {
  const std::string file = spec.name_in_folder();
  // Python's message names the file and line itself.
  throw ConfigError(what.starts_with(file + ":")
                        ? fmt::format("{}: {}", spec.key, what)
                        : fmt::format("{}: {}:{}: {}", spec.key, file, spec.python_class, what));
}

bool is_about_memory(const py::error_already_set& error) {
  return error.matches(PyExc_MemoryError) ||
         std::string(py::str(error.value())).find("can't allocate memory") != std::string::npos;
}

py::tuple place_of(const PythonSpec& spec) {
  const fs::path folder = fs::current_path() / spec.folder();
  py::dict files;
  for (const auto& [path, text] : read_trusted_python(spec)) {
    files[py::str(path)] = py::bytes(text);  // as bytes: the file declares its own encoding
  }
  return py::make_tuple(folder.string(), files, spec.import_name(), spec.python_class);
}

OwnKernels::OwnKernels(gan::Derivatives derivatives)
    : operators_(!has_own_kernels()                        ? gan::Owned::kNothing
                 : derivatives == gan::Derivatives::kFirst ? gan::Owned::kAll
                                                           : gan::Owned::kConvolutions),
      joins_norms_(has_own_kernels() && derivatives == gan::Derivatives::kFirst) {
  if (joins_norms_) {
    support("join_norms")(true);
  }
}

OwnKernels::~OwnKernels() {
  if (joins_norms_) {
    support("join_norms")(false);
  }
}

py::object wrapped(const at::Tensor& tensor) {
  return py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor));
}

std::optional<at::Tensor> unwrapped(const py::handle& object) {
  return THPVariable_Check(object.ptr()) ? std::optional(THPVariable_Unpack(object.ptr()))
                                         : std::nullopt;
}

}  // namespace gangway::python
