// SPDX-License-Identifier: MIT
// Exports the functions of libgangway-python.so to its loader (python/open/python_library.hpp).
#include <exception>
#include <memory>
#include <string>

#include <torch/csrc/Exceptions.h>

#include "python/call/own_step.hpp"
#include "python/call/python_block.hpp"
#include "python/call/support.hpp"
#include "python/check/trial.hpp"
#include "python/open/python_library.hpp"

namespace {

std::unique_ptr<gangway::gan::Block> make_block(const gangway::PythonSpec& spec) {
  auto module = std::make_unique<gangway::python::PythonModule>(spec);
  gangway::python::try_out(*module);
  return std::make_unique<gangway::python::PythonBlock>(std::move(module));
}

void save(gangway::gan::Network& network, const std::filesystem::path& file) {
  dynamic_cast<gangway::python::PythonBlock&>(network.block(0)).save(file);
}

void note_packages(const std::filesystem::path& file) {
  const pybind11::gil_scoped_acquire lock;
  gangway::python::support("note_packages")(file.string());
}

std::string raised_in(const std::exception& error) {
  namespace py = pybind11;
  const auto* raised = dynamic_cast<const python_error*>(&error);
  if (raised == nullptr || raised->type == nullptr) {
    return {};
  }
  const py::gil_scoped_acquire lock;
  const py::object none = py::none();
  const py::handle trace = raised->traceback == nullptr ? none.ptr() : raised->traceback;
  return py::str(gangway::python::support("complaint")(
      py::handle(raised->type), py::handle(raised->value), trace,
      gangway::python::support("prints").attr("tell")));
}

void end() noexcept {
  const pybind11::gil_scoped_acquire lock;
  try {
    gangway::python::support("end")();
  } catch (const pybind11::error_already_set&) {  // the process ends; nothing reads the error
    PyErr_Clear();
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const gangway::python::PythonPlugin&
gangway_python_plugin();

const gangway::python::PythonPlugin& gangway_python_plugin() {
  static constexpr gangway::python::PythonPlugin kPlugin{
      .begin = gangway::python::begin_interpreter,
      .make_block = make_block,
      .make_step = gangway::python::make_own_step,
      .facts = gangway::python::own_step_facts,
      .save = save,
      .note_packages = note_packages,
      .raised_in = raised_in,
      .end = end};
  return kPlugin;
}
