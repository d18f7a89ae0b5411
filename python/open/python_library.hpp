// SPDX-License-Identifier: MIT
// Loads networks of the user's own Python (docs/python.md): libgangway-python.so beside the
// programs, and its interpreter. Both are loaded only for jobs with such networks. Called by the
// main() of a worker or of gangway-model before it makes networks; compute thread only.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gan/block.hpp"
#include "job/blocks/python_spec.hpp"
#include "job/spec.hpp"
#include "python/open/python_step.hpp"

namespace gangway::python {

/// Options of starting an interpreter.
struct PythonStart {
  std::string executable;  ///< of the environment: "/home/me/.venv/bin/python"
  bool hides_gpus = false;
  bool has_own_kernels = false;  ///< whether Gangway's CPU kernels may compute operators
  bool keeps_bytecode = false;   ///< write packages' .pyc files, as Python does
  /// A longer call writes its place in the user's files to standard error.
  double slow_seconds = 0.0;
  /// Receives each line that the user's files print, and the full text of errors.
  std::function<void(const std::string& line)> tell;
};

/// Functions of libgangway-python.so (python/plugin.cpp).
struct PythonPlugin {
  void (*begin)(const PythonStart& start);
  std::unique_ptr<gan::Block> (*make_block)(const PythonSpec& spec);
  std::unique_ptr<PythonStep> (*make_step)(const Job& job,
                                           const PerNetwork<gan::Network*>& networks);
  OwnStepFacts (*facts)(const Job& job);
  void (*save)(gan::Network& network, const std::filesystem::path& file);
  void (*note_packages)(const std::filesystem::path& file);
  std::string (*raised_in)(const std::exception& error);
  void (*end)() noexcept;
};

/// Starts Python once a process if `job` has networks or a step of the user's Python. Sets the
/// job's training.own from the file of its step.
/// @throws ConfigError: the environment (layout.python, $VIRTUAL_ENV or Gangway's own LibTorch) is
/// not the Python of this program's LibTorch, or is writable by others; the step's file cannot
/// be used. EnvironmentError: the plug-in or libpython is missing
/// @param tell  as PythonStart::tell; empty: prints lines to standard error behind the word python
/// @param how  reports calls longer than a quarter of its timeout_seconds; 0: none
/// @param keeps_bytecode  for later processes: one process writes it before workers begin
void open_python(Job& job, const Execution& how,
                 const std::function<void(const std::string& line)>& tell = {},
                 bool keeps_bytecode = false);

/// @throws InvariantError before open_python; ConfigError as python/call/python_module.hpp
[[nodiscard]] std::unique_ptr<gan::Block> make_block(const PythonSpec& spec);

/// Writes a network of the user's Python, in evaluation and for any number of examples, by
/// torch.export (.pt2) or torch.onnx (.onnx). @throws ConfigError of one line: the file exists, or
/// cannot be exported; EnvironmentError
void save_python(gan::Network& network, const std::filesystem::path& file);

/// Records the versions of the packages that the user's files use in a run's packages.json. If that
/// exists, reports the differences. Does nothing without an interpreter.
void note_packages(const std::filesystem::path& run_directory);

/// Returns the user's Python error beneath LibTorch (in backward of an autograd.Function): one
/// line, with file and line. Empty if `error` has another cause.
[[nodiscard]] std::string raised_in_python(const std::exception& error);

/// Flushes output and exits at once because an interpreter that ran LibTorch cannot shut down in
/// order. Does nothing without an interpreter.
void leave_with_python(int code);

}  // namespace gangway::python
