// SPDX-License-Identifier: MIT
// Networks that are the user's own Python (docs/python.md): libgangway-python.so, which lies beside
// the programs, and the interpreter that it begins. Both are loaded where a job has such networks
// and nowhere else. Begun by the main() of a worker or of gangway-model before it makes networks;
// compute thread only.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gan/block.hpp"
#include "gan/python/python_step.hpp"
#include "job/blocks/python_spec.hpp"
#include "job/spec.hpp"

namespace gangway::gan {

/// What begins an interpreter.
struct PythonStart {
  std::string executable;  ///< of the environment: "/home/me/.venv/bin/python"
  bool hides_gpus = false;
  bool keeps_bytecode = false;  ///< of packages, beside them, as Python does by itself
  /// A call that takes longer has its place in the user's files written to standard error.
  double slow_seconds = 0.0;
  /// Told each line that the user's files print, and the whole of what is said of an error.
  std::function<void(const std::string& line)> tell;
};

/// What libgangway-python.so has (python/plugin.cpp).
struct PythonPlugin {
  void (*begin)(const PythonStart& start);
  std::unique_ptr<Block> (*make_block)(const PythonSpec& spec);
  std::unique_ptr<PythonStep> (*make_step)(const Job& job, const PerNetwork<Network*>& networks);
  OwnStepFacts (*facts)(const Job& job);
  void (*save)(Network& network, const std::filesystem::path& file);
  void (*note_packages)(const std::filesystem::path& file);
  std::string (*raised_in)(const std::exception& error);
  void (*end)() noexcept;
};

/// Begins Python where `job` has networks or a step of the user's Python, once a process; fills
/// in the job's training.own from the file of its step.
/// @throws ConfigError of one line: the environment that layout.python, $VIRTUAL_ENV or Gangway's
/// own LibTorch names is none of CPython 3.11 with the LibTorch that this program computes with, or
/// others could have written to it; the step's file cannot be used. EnvironmentError: the plug-in
/// or libpython is not there
/// @param how  its timeout_seconds: a call that takes a quarter of it is told; 0: none is
/// @param keeps_bytecode  for the processes to come: one of them does, before workers begin
void open_python(Job& job, const Execution& how,
                 const std::function<void(const std::string& line)>& tell,
                 bool keeps_bytecode = false);

/// @throws InvariantError before open_python; ConfigError as python/python_module.hpp
[[nodiscard]] std::unique_ptr<Block> make_block(const PythonSpec& spec);

/// Writes a network of the user's Python, in evaluation and for any number of examples, as
/// torch.export does (.pt2), or torch.onnx (.onnx). @throws ConfigError of one line: the file is
/// there already, or why it cannot be; EnvironmentError
void save_python(Network& network, const std::filesystem::path& file);

/// Writes down, in a run's packages.json, the versions of the packages that the user's files use;
/// where it is there, tells which are others now. Nothing where there is no interpreter.
void note_packages(const std::filesystem::path& run_directory);

/// What the user's Python has raised beneath LibTorch, in the backward of an autograd.Function: one
/// line, with file and line. Empty: `error` is another one.
[[nodiscard]] std::string raised_in_python(const std::exception& error);

/// For the end of a program: an interpreter that has run LibTorch cannot be taken down in order, so
/// where there is one, what is printed is flushed and the process leaves at once. Else nothing.
void leave_with_python(int code);

}  // namespace gangway::gan
