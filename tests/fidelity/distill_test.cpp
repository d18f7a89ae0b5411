// SPDX-License-Identifier: MIT
// Recipe distill: first weights by pruning, on any layout and after a resume.
#include <gtest/gtest.h>

#include "job/families/families.hpp"
#include "job/models/narrowing.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "tests/named_rows.hpp"

namespace gangway::fidelity {
namespace {

class Distillation : public BesideOneWorker {};

/// Returns the tensors of a network in a checkpoint.
NetworkValues values_in(const Outcome& outcome, const std::string& prefix) {
  NetworkValues values;
  for (const auto& [name, tensor] : tensors_of(outcome.checkpoint)) {
    if (name.starts_with(prefix)) {
      const at::Tensor row_major = tensor.contiguous();
      const auto* const first = row_major.const_data_ptr<float>();
      values[name.substr(prefix.size())] = {.shape = tensor.sizes().vec(),
                                            .values = {first, first + tensor.numel()}};
    }
  }
  return values;
}

TEST_F(Distillation, BeginsWithTheTeachersLargestChannelsOnEveryWorker) {
  for (const std::string_view family : {"dcgan", "r3gan"}) {
    JobSpec job = small_distillation(family_named(family), images());
    job.network("generator").optimizer.lr = 0.0;
    const Outcome outcome = run(job, 2, 1);
    const PerNetwork<Architecture> networks = job.architectures();
    const NetworkValues expected =
        narrowed(networks[job.id_of("teacher")], networks[job.id_of("generator")],
                 values_in(outcome, "teacher/"));
    const NetworkValues found = values_in(outcome, "generator/");
    const NetworkValues average = values_in(outcome, "generator_ema/");
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : found) {
      if (name.find("running_") == std::string::npos) {  // these have moved
        EXPECT_EQ(tensor, expected.at(name)) << family << " " << name;
        EXPECT_EQ(average.at(name), tensor) << family << " " << name;
      }
    }
  }
}

TEST_F(Distillation, GoesOnAfterAResumeAsInOneGo) {
  const JobSpec job = small_distillation(family_named("dcgan"), images());
  const Outcome& one_go = trained_alone(job, 3);
  const Outcome first = run(job, 3, 1);
  EXPECT_EQ(resumed(job, 2, 1, 3, first).digest, one_go.digest);
  EXPECT_EQ(values_in(first, "teacher/"), values_in(one_go, "teacher/")) << "never trained";
  EXPECT_TRUE(values_in(first, "teacher_optimizer/").empty());
}

}  // namespace
}  // namespace gangway::fidelity
