// SPDX-License-Identifier: MIT
// The rules for recording a job's steps as CUDA graphs. tests/worker/step_graphs_test.cpp compares
// the bits of recorded and plain steps.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/estimate/device_estimate.hpp"
#include "job/file/parse.hpp"

namespace gangway {
namespace {

JobSpec job_with(const std::vector<std::string>& keys) {
  return load_job({.file = {}, .text = std::nullopt, .overrides = keys, .environment = {}}).spec;
}

std::string why_not(const JobSpec& job) { return why_not_recorded(job, resolve_layout(job, 2)); }

std::string why_not(const std::vector<std::string>& keys) { return why_not(job_with(keys)); }

TEST(RecordedSteps, AreOfWhatADeviceDoesByItself) {
  EXPECT_EQ(why_not(job_with({})), "");
  EXPECT_EQ(why_not({"training.augment.policy=ada"}), "");
  EXPECT_EQ(why_not({"training.augment={policy: ada, strength: 0.1}",
                     "training.augment.schedule={decay: linear, end_kimg: 1, final: 0.3}"}),
            "");
  EXPECT_EQ(why_not({"training.r1.gamma=1",
                     "training.r1.schedule={decay: linear, end_kimg: 1, final_factor: 0.1}"}),
            "");
}

TEST(RecordedSteps, AreNoneWhereTheHostDecidesOnNumbers) {
  EXPECT_NE(why_not({"layout.stages=2"}), "");
  EXPECT_NE(why_not({"numerics.precision=fp16"}), "");
  JobSpec job = job_with({"model.classes=10", "training.fake_labels=data"});
  EXPECT_EQ(why_not(job), "");
  job.data.module.file = "faces.py";
  job.data.module.python_class = "Faces";
  EXPECT_NE(why_not(job), "");
  job = job_with({});
  job.model.library.file = "libmine.so";
  EXPECT_NE(why_not(job), "");
  job = job_with({});
  job.networks[NetworkId{}].module.file = "mine.py";
  EXPECT_NE(why_not(job), "");
}

TEST(RecordedSteps, AreOfGpusWhereTheJobWantsThem) {
  JobSpec job = job_with({});
  EXPECT_FALSE(records_steps(job, resolve_layout(job, 2)));
  job.numerics.device = DeviceKind::kCuda;
  EXPECT_TRUE(records_steps(job, resolve_layout(job, 2)));
  job.layout.cuda_graph = GraphChoice::kOff;
  EXPECT_FALSE(records_steps(job, resolve_layout(job, 2)));
}

}  // namespace
}  // namespace gangway
