// SPDX-License-Identifier: MIT
// What libgangway-python.so shows the program that loads it (gan/script/python_library.hpp).
#include <memory>

#include "gan/script/python_library.hpp"
#include "python/own_step.hpp"
#include "python/python_block.hpp"
#include "python/support.hpp"

namespace {

std::unique_ptr<gangway::gan::Block> make_block(const gangway::ScriptSpec& spec) {
  return std::make_unique<gangway::python::PythonBlock>(spec);
}

void end() noexcept {
  const pybind11::gil_scoped_acquire lock;
  try {
    gangway::python::support("end")();
  } catch (const pybind11::error_already_set&) {  // nobody is left to be told
    PyErr_Clear();
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const gangway::gan::PythonPlugin&
gangway_python_plugin();

const gangway::gan::PythonPlugin& gangway_python_plugin() {
  static constexpr gangway::gan::PythonPlugin kPlugin{.begin = gangway::python::begin_interpreter,
                                                      .make_block = make_block,
                                                      .make_step = gangway::python::make_own_step,
                                                      .phases = gangway::python::own_phases_of,
                                                      .end = end};
  return kPlugin;
}
