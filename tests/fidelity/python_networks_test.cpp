// SPDX-License-Identifier: MIT
// Networks that are the user's Python, of tests/python/nets.py: BatchNorm and its whole number,
// spectral norm, dropout. A network is one block, under its own names.
#include <gtest/gtest.h>

#include "python/open/python_library.hpp"
#include "tests/fidelity/beside_one_worker.hpp"

namespace gangway::fidelity {
namespace {

class PythonNetworks : public BesideOneWorker {
 protected:
  PythonNetworks() {
    for (NetworkSpec& network : job_.networks) {
      network.module.file = "tests/python/nets.py";
      network.module.python_class = network.name == "generator" ? "Generator" : "Discriminator";
    }
    job_.layout.python = ".venv";
    job_.training.penalty.r1_gamma = 2.0;
    python::open_python(job_, job_.layout, [](const std::string&) {});
  }
  JobSpec job_ = small_dcgan(images());
};

TEST_F(PythonNetworks, HaveEqualBitsOnSeveralWorkers) {
  expect_equal_bits({.job = job_, .workers = 3, .end = 2, .hosts = {0, 0, 1}});
  job_.layout.recompute = true;
  expect_equal_bits({.job = job_, .workers = 2, .end = 2});
}

TEST_F(PythonNetworks, HaveEqualBitsWhereTheyAreApart) {
  expect_equal_bits(job_, 2, 3, [](JobSpec& divided) {
    divided.placement("generator").workers = {0};
    divided.placement("discriminator").workers = {1, 2};
  });
}

TEST_F(PythonNetworks, GoOnOnOtherWorkersToOneWorkersBits) {
  const Outcome first = run(job_, 2, 1);
  EXPECT_EQ(resumed(job_, 3, 1, 3, first).digest, trained_alone(job_, 3).digest);
}

}  // namespace
}  // namespace gangway::fidelity
