// SPDX-License-Identifier: MIT
#include "python/call/support.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <pthread.h>
#include <pybind11/eval.h>

#include "base/errors.hpp"
#include "gan/kernels/own_operators.hpp"
#include "python_support.hpp"  // texts of the Python files

namespace gangway::python {
namespace {

namespace py = pybind11;

// Global, because the interpreter belongs to the process and never ends.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
PyObject* support_functions = nullptr;  // the dictionary of support.py and own_step.py

// Global for the same reason.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
bool are_kernels_own = false;

using Clock = std::chrono::steady_clock;

// Start of the call under way on the compute thread; 0: none.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<Clock::rep> call_since{0};

/// On this signal Python's faulthandler prints the receiving thread's place in the user's file. It
/// needs no interpreter lock.
int place_signal() { return SIGRTMIN + 7; }  // NOLINT(readability-magic-numbers)

/// Watches the calling thread's calls until the process ends. Python's dump_traceback_later would
/// start a thread for each call, which costs 0.6 ms.
void watch_calls(double slow_seconds) {
  const std::chrono::duration<double> slow(slow_seconds);
  std::thread([slow, computes = ::pthread_self()] {
    Clock::rep told = 0;
    while (true) {
      std::this_thread::sleep_for(std::min(slow / 4.0, std::chrono::duration<double>(1.0)));
      const Clock::rep since = call_since;
      if (since != 0 && since != told &&
          Clock::now().time_since_epoch().count() - since >
              Clock::duration::rep(Clock::period::den * slow.count())) {
        told = since;
        fmt::print(stderr, "gangway: a call into Python has taken {:.3g} s; it stands at\n",
                   slow.count());
        (void)::pthread_kill(computes, place_signal());
      }
    }
  }).detach();
}

void require(const PyStatus& status, const std::string& executable) {
  if (PyStatus_Exception(status) != 0) {
    throw EnvironmentError(fmt::format("{}: Python does not begin: {}", executable,
                                       status.err_msg == nullptr ? "?" : status.err_msg));
  }
}

/// Starts the interpreter as its own `bin/python` does, but ignores the caller's environment, so
/// that all workers are alike. Sets have a fixed order. Bytecode of the user's files is never
/// written (python/read/sources.py).
void initialise(const std::string& executable, bool keeps_bytecode) {
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);
  before.utf8_mode = 1;
  require(Py_PreInitialize(&before), executable);
  PyConfig config;
  PyConfig_InitIsolatedConfig(&config);
  config.use_hash_seed = 1;
  config.hash_seed = 0;
  config.write_bytecode = keeps_bytecode ? 1 : 0;
  config.install_signal_handlers = 0;
  for (wchar_t** text : {&config.executable, &config.program_name}) {
    require(PyConfig_SetBytesString(&config, text, executable.c_str()), executable);
  }
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  require(status, executable);
}

}  // namespace

void begin_interpreter(const PythonStart& start) {
  initialise(start.executable, start.keeps_bytecode);
  try {
    py::dict functions;
    functions["__name__"] = "gangway_support";
    functions["__builtins__"] = py::module_::import("builtins");
    py::exec(kSupport, functions);
    py::exec(kOwnStep, functions);
    functions["join_activation"] = py::cpp_function(&gan::OwnOperators::join_activation);
    functions["end_joining"] = py::cpp_function(&gan::OwnOperators::end_joining);
    functions["begin"](py::cpp_function(start.tell), start.hides_gpus, kStep, place_signal());
    are_kernels_own = start.has_own_kernels;
    support_functions = functions.release().ptr();
  } catch (const py::error_already_set& error) {
    const std::string what = error.what();
    throw EnvironmentError(fmt::format("{}: PyTorch cannot be imported: {}", start.executable,
                                       what.substr(0, what.find('\n'))));
  }
  (void)PyEval_SaveThread();
  if (start.slow_seconds > 0.0) {
    watch_calls(start.slow_seconds);
  }
}

WatchedCall::WatchedCall() { call_since = Clock::now().time_since_epoch().count(); }
WatchedCall::~WatchedCall() { call_since = 0; }

bool has_own_kernels() { return are_kernels_own; }

py::object support(const char* name) {
  return py::reinterpret_borrow<py::dict>(support_functions)[name];
}

std::string complaint_of(const py::error_already_set& error) {
  const py::object none = py::none();
  try {
    return py::str(support("complaint")(error.type(), error.value(),
                                        error.trace() ? error.trace() : none,
                                        support("prints").attr("tell")));
  } catch (const py::error_already_set& another) {  // the error cannot be formatted
    return fmt::format("an error that cannot be printed ({})", another.what());
  }
}

}  // namespace gangway::python
