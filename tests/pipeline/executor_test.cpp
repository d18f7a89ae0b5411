// SPDX-License-Identifier: MIT
#include "pipeline/executor.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "gan/recipes/adversarial.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::pipeline {
namespace {

class Recorder final : public Operations {
 public:
  void perform(const Instruction& instruction) override {
    if (performed.size() == fail_at) {
      throw std::runtime_error("an operation failed");
    }
    performed.push_back(instruction);
  }
  std::vector<Instruction> performed;
  std::size_t fail_at = static_cast<std::size_t>(-1);
};

TEST(Executor, PerformsEveryInstructionInOrder) {
  const std::vector<Instruction> schedule =
      one_stage_schedule(gan::adversarial_phases(JobSpec{}), {0, 2}, 0, Overlap::kAcross);
  Recorder recorder;
  execute(schedule, recorder);
  EXPECT_EQ(recorder.performed, schedule);
}

TEST(Executor, StopsAtAnOperationThatThrows) {
  const std::vector<Instruction> schedule =
      one_stage_schedule(gan::adversarial_phases(JobSpec{}), {0, 2}, 0, Overlap::kAcross);
  Recorder recorder;
  recorder.fail_at = 3;
  EXPECT_THROW(execute(schedule, recorder), std::runtime_error);
  EXPECT_EQ(recorder.performed.size(), 3U);
}

}  // namespace
}  // namespace gangway::pipeline
