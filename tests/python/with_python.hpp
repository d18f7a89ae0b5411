// SPDX-License-Identifier: MIT
// A job whose networks are the user's Python, in a process with an interpreter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gan/block.hpp"
#include "gan/blocks/build_networks.hpp"
#include "gan/random_tensors.hpp"
#include "job/spec.hpp"
#include "python/open/python_library.hpp"
#include "tests/adversarial_networks.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::gan {

inline constexpr std::int64_t kExamples = 4;
inline constexpr const char* kNets = "tests/python/nets.py";

class KeptStatistics final : public StatisticSink {
 public:
  void take(const Statistic& statistic, const at::Tensor& value) override {
    values[statistic.name] = value.clone();
  }
  std::map<std::string, at::Tensor> values;
};

class WithPython : public ::testing::Test {
 protected:
  /// The first fixture of a process starts the interpreter, with its choice of kernels.
  explicit WithPython(KernelChoice kernels = KernelChoice::kDeterministic) {
    job_.numerics.kernels = kernels;
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

  /// All tests share one interpreter.
  static std::vector<std::string>& printed() {
    static std::vector<std::string> lines;
    return lines;
  }
  [[nodiscard]] static at::Tensor image() {
    return keyed_normal({.seed = 3}, {kExamples, 1, 32, 32}, at::kCPU);
  }
  /// Returns a discriminator of a class of tests/python/nets.py.
  Network discriminator(const std::string& name) {
    job_.network("discriminator").module.python_class = name;
    PerNetwork<Network> networks = build_networks(job_);
    return std::move(networks[kDiscriminator]);
  }
  const gangway::testing::ScratchFolder folder_;
  JobSpec job_;
};

}  // namespace gangway::gan
