// SPDX-License-Identifier: MIT
// A job whose networks are the user's Python, in a process that has begun an interpreter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gan/random_tensors.hpp"
#include "job/spec.hpp"
#include "python/open/python_library.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::gan {

inline constexpr std::int64_t kExamples = 4;
inline constexpr const char* kNets = "tests/python/nets.py";

class WithPython : public ::testing::Test {
 protected:
  WithPython() {
    job_.model.latent = 16;
    job_.training.seed = 7;
    job_.layout.python = ".venv";
    for (NetworkSpec& network : job_.networks) {
      network.module.file = kNets;
      network.module.python_class = network.name == "generator" ? "Generator" : "Discriminator";
    }
    python::open_python(job_, job_.layout,
                        [](const std::string& line) { printed().push_back(line); });
    printed().clear();
  }

  /// The interpreter is one for all tests.
  static std::vector<std::string>& printed() {
    static std::vector<std::string> lines;
    return lines;
  }
  [[nodiscard]] static at::Tensor image() {
    return keyed_normal({.seed = 3}, {kExamples, 1, 32, 32}, at::kCPU);
  }
  const gangway::testing::ScratchFolder folder_;
  JobSpec job_;
};

}  // namespace gangway::gan
