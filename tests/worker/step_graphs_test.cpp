// SPDX-License-Identifier: MIT
// Steps that are recorded and played have the bits of plain ones, on a recorder that plays by
// computing again; and on recorders that fail, or replay something else.
#include "worker/step/step_graphs.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/estimate/device_estimate.hpp"
#include "python/open/python_library.hpp"
#include "python/open/python_step.hpp"
#include "tests/fidelity/beside_one_worker.hpp"
#include "tests/fidelity/computing_recorder.hpp"

namespace gangway::fidelity {
namespace {

/// Cannot record the second graph.
class FailingRecorder final : public ComputingRecorder {
 public:
  using ComputingRecorder::ComputingRecorder;
  std::size_t record(const std::function<void()>& body) override {
    const std::size_t graph = ComputingRecorder::record(body);
    if (graph == 1) {
      throw std::runtime_error("an operation is not permitted when a stream is capturing\nmore");
    }
    return graph;
  }
};

/// Has no memory for micro-batches beside one another.
class NarrowRecorder final : public ComputingRecorder {
 public:
  using ComputingRecorder::ComputingRecorder;
  void side_by_side(const std::vector<std::function<void()>>& /*bodies*/) override {
    throw std::runtime_error("out of memory");
  }
};

/// Cannot record what Calls say.
class HesitantRecorder final : public ComputingRecorder {
 public:
  using ComputingRecorder::ComputingRecorder;
  std::size_t record(const std::function<void()>& body) override {
    const bool fails = calls().recorded == calls().fails_at;
    const std::size_t graph = ComputingRecorder::record(body);
    if (fails) {
      throw std::runtime_error("no such node");
    }
    return graph;
  }
};

/// Plays nothing from that step on.
template <std::int64_t kEnd>
class FadingRecorder final : public ComputingRecorder {
 public:
  using ComputingRecorder::ComputingRecorder;
  void begin_step(std::uint64_t /*seed*/, std::int64_t step) override { step_ = step; }
  void replay(std::size_t graph) override {
    if (step_ < kEnd) {
      ComputingRecorder::replay(graph);
    }
  }

 private:
  std::int64_t step_ = 0;
};

template <typename Recorder>
class RecordingDevice final : public worker::CpuDevice {
 public:
  RecordingDevice(const Job& job, Calls& calls) : CpuDevice(job), calls_(calls) {}
  std::unique_ptr<worker::GraphRecorder> make_recorder() override {
    return std::make_unique<Recorder>(calls_);
  }

 private:
  Calls& calls_;
};

class StepGraphs : public BesideOneWorker {
 protected:
  template <typename Recorder>
  Outcome recorded(JobSpec job, std::int64_t steps, int workers = 1) {
    if (job.layout.cuda_graph == GraphChoice::kAuto) {
      job.layout.cuda_graph = GraphChoice::kOn;
    }
    return train(
        {.job = job,
         .workers = workers,
         .end = steps,
         .device =
             [this](const Job& of, const Execution&, const worker::Neighbours&, int worker) {
               return std::make_unique<RecordingDevice<Recorder>>(
                   of, calls_[static_cast<std::size_t>(worker)]);
             }},
        next_folder());
  }

  Calls calls_[4];
};

/// Two plain, one recorded, one of both, one played.
constexpr std::int64_t kSteps = 5;

class EveryRecordedJob : public StepGraphs, public ::testing::WithParamInterface<std::size_t> {};

bool any_pass(const JobSpec& job, bool (*holds)(const pipeline::Pass&)) {
  const std::vector<pipeline::Phase> phases = gan::phases_of(job, TORCH_VERSION);
  return std::ranges::any_of(phases, [&](const pipeline::Phase& phase) {
    return std::ranges::any_of(phase.passes, holds);
  });
}

/// Whether a phase takes what an earlier one has made. By computing it can be taken once: a step
/// that is computed both ways takes it twice, as only a device's graphs can.
bool recalls(const JobSpec& job) {
  return any_pass(job, [](const pipeline::Pass& pass) { return pass.recall.has_value(); });
}

/// Whether a pass takes what is the host's from step to step.
bool takes_from_the_host(const JobSpec& job) {
  return any_pass(job, [](const pipeline::Pass& pass) {
    return std::ranges::any_of(pass.nodes, [](const pipeline::Node& node) {
      return std::holds_alternative<pipeline::Pool>(node);
    });
  });
}

std::vector<NamedJob> jobs_to_compute_twice(const std::filesystem::path& images) {
  std::vector<NamedJob> jobs = job_breadth(images);
  jobs.push_back({.name = "Adaptive", .job = adaptive_dcgan(images)});
  jobs.push_back({.name = "DiffAugment", .job = small_dcgan(images)});
  jobs.back().job.training.augment.policy = AugmentPolicy::kDiffAugment;
  // The phases of what is large are those of another.
  std::erase_if(jobs, [](const NamedJob& named) { return named.is_large || recalls(named.job); });
  return jobs;
}

const std::vector<NamedJob>& twice_computed_jobs() {
  static const std::vector<NamedJob> jobs = jobs_to_compute_twice("");
  return jobs;
}

/// More of a job with several lists of instructions, each of which comes less often.
std::int64_t steps_of(const JobSpec& job) {
  const std::vector<pipeline::Phase> phases = gan::phases_of(job, TORCH_VERSION);
  return std::ranges::all_of(phases, [](const auto& phase) { return phase.interval == 1; })
             ? kSteps
             : kSteps + 2;
}

TEST_P(EveryRecordedJob, HasTheBitsOfPlainSteps) {
  NamedJob named = jobs_to_compute_twice(images())[GetParam()];
  const std::int64_t steps = steps_of(named.job);
  const Outcome& reference = trained_alone(named.job, steps);
  for (const std::size_t turn : testing::turns(GetParam(), 4)) {  // three overlaps, and branches
    calls_[0] = {};
    const bool has_branches = turn == 3;
    const int workers = has_branches ? 1 : 1 + static_cast<int>(GetParam() / 4 % 2);
    named.job.layout.overlap = static_cast<Overlap>(turn % 3);
    named.job.layout.cuda_graph = has_branches ? GraphChoice::kBranches
                                  : named.job.layout.overlap == Overlap::kNone
                                      ? GraphChoice::kOn
                                      : GraphChoice::kOverlap;
    const Outcome found = recorded<ComputingRecorder>(named.job, steps, workers);
    EXPECT_EQ(found.digest, reference.digest) << workers << " workers";
    EXPECT_TRUE(same_losses(found, reference)) << workers << " workers";
    const bool is_recorded = why_not_recorded(named.job, resolve_layout(named.job, 1)).empty();
    EXPECT_FALSE(is_recorded && takes_from_the_host(named.job));
    EXPECT_EQ(calls_[0].recorded > 0, is_recorded);
    EXPECT_EQ(calls_[0].played > 0, is_recorded);
    EXPECT_EQ(calls_[0].given_up, 0) << "it has the bits of a plain step";
    if (has_branches) {
      EXPECT_EQ(calls_[0].most_beside > 1, is_recorded && named.job.training.microbatches > 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryRecordedJob,
                         ::testing::Range(std::size_t{0}, twice_computed_jobs().size()),
                         [](const auto& instance) {
                           return twice_computed_jobs()[instance.param].name;
                         });

TEST_F(StepGraphs, GivesBackWhatPlainStepsTookOnceAListIsPlayedAlone) {
  const JobSpec job = small_dcgan(images());
  (void)recorded<ComputingRecorder>(job, 4);  // two plain ones, one recorded, one of both ways
  EXPECT_EQ(calls_[0].given_back, 0);
  EXPECT_EQ(recorded<ComputingRecorder>(job, kSteps).digest, trained_alone(job, kSteps).digest);
  EXPECT_EQ(calls_[0].given_back, 1);
}

TEST_F(StepGraphs, GoesOnInPlainStepsWhereRecordingFails) {
  const JobSpec job = small_dcgan(images());
  EXPECT_EQ(recorded<FailingRecorder>(job, kSteps).digest, trained_alone(job, kSteps).digest);
  EXPECT_EQ(calls_[0].played, 0);
}

TEST_F(StepGraphs, HaveNoMoreBranchesThanTheDryRunCountsAndNoneWhereThatFails) {
  JobSpec job = small_dcgan(images());
  job.training.microbatches = 8;
  const std::string expected = trained_alone(job, kSteps + 1).digest;
  job.layout.cuda_graph = GraphChoice::kBranches;
  EXPECT_EQ(recorded<ComputingRecorder>(job, kSteps + 1).digest, expected);
  EXPECT_EQ(calls_[0].most_beside, kMostBranches);
  calls_[0] = {};
  EXPECT_EQ(recorded<NarrowRecorder>(job, kSteps + 1).digest, expected);
  EXPECT_GT(calls_[0].played, 0);
}

TEST_F(StepGraphs, AreRecordedWithoutExchangesBesideThemWhereTheOtherWayFails) {
  JobSpec job = small_dcgan(images());
  job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};  // two lists of instructions
  constexpr std::int64_t kMoreSteps = 12;
  const std::string expected = trained_alone(job, kMoreSteps).digest;
  job.layout.cuda_graph = GraphChoice::kOverlap;
  (void)recorded<ComputingRecorder>(job, 5);  // the list without the penalty comes twice
  const int of_first_list = calls_[0].recorded;
  calls_[0] = {};
  (void)recorded<ComputingRecorder>(job, kMoreSteps);
  const int of_both = calls_[0].recorded;
  ASSERT_GT(of_both, of_first_list);
  for (const int fails_at : {0, of_first_list}) {
    calls_[0] = {.fails_at = fails_at};
    EXPECT_EQ(recorded<HesitantRecorder>(job, kMoreSteps).digest, expected);
    const int lost = fails_at + 1;
    EXPECT_EQ(calls_[0].recorded, lost + of_both) << "all once more";
    EXPECT_GT(calls_[0].played, 0);
  }
}

TEST_F(StepGraphs, GoesOnInPlainStepsWhereWhatIsPlayedLeavesOtherGradients) {
  const JobSpec job = small_dcgan(images());
  EXPECT_EQ(recorded<FadingRecorder<0>>(job, kSteps).digest, trained_alone(job, kSteps).digest);
  EXPECT_GT(calls_[0].recorded, 0);
}

TEST(Agree, AsksForEveryBitUnlessKernelsAreInexact) {
  const at::Tensor plain = at::arange(1, 101, at::kFloat);
  const at::Tensor near = plain * 1.001;
  EXPECT_TRUE(worker::agree(plain, plain.clone(), 0.0));
  EXPECT_FALSE(worker::agree(plain, near, 0.0));
  EXPECT_TRUE(worker::agree(plain, near, 0.1));
  EXPECT_FALSE(worker::agree(plain, plain * 1.2, 0.1));
  EXPECT_FALSE(worker::agree(plain, at::full_like(plain, NAN), 0.1));
  EXPECT_TRUE(worker::agree(at::zeros(3), at::zeros(3), 0.1));
}

constexpr const char* kOwnStep = R"(
import gangway, torch
from torch import nn

class Generator(nn.Module):
    def __init__(self, latent, side):
        super().__init__()
        self.side = side
        self.make = nn.Sequential(nn.Linear(latent, 16), nn.BatchNorm1d(16), nn.Linear(16, side * side))
    def forward(self, noise):
        return self.make(noise).view(len(noise), 1, self.side, self.side)

class Judge(nn.Module):
    def __init__(self, side):
        super().__init__()
        self.judge = nn.Sequential(nn.Flatten(), nn.Linear(side * side, 16), nn.Dropout(0.3), nn.Linear(16, 1))
    def forward(self, image):
        return self.judge(image)

class Step(gangway.Step):
    @gangway.phase(trains="discriminator", new_batch=True, capture=True)
    def judge(self, batch, step):
        self.keep("noise", torch.randn(len(batch["image"]), self.model["latent"]))
        fake = self.generator(self.kept["noise"]).detach()
        return (self.discriminator(fake) - self.discriminator(batch["image"])).mean() / (1 + step)
    @gangway.phase(trains="generator", capture=True)
    def make(self, batch, step):
        loss = -self.discriminator(self.generator(self.kept["noise"] + torch.randn(()))).mean()
        return loss, {"step": step}
)";

/// LibTorch's generator, where a graph is recorded or played, has the seed that the call in it
/// draws by.
class SeededRecorder final : public ComputingRecorder {
 public:
  using ComputingRecorder::ComputingRecorder;
  std::size_t record(const std::function<void()>& body) override {
    return ComputingRecorder::record([body] {
      const std::uint64_t before = at::detail::getDefaultCPUGenerator().current_seed();
      body();
      EXPECT_EQ(at::detail::getDefaultCPUGenerator().current_seed(), before);
    });
  }
};

class OwnStepGraphs : public StepGraphs {
 protected:
  /// A job with a step of its own, which has been looked at.
  JobSpec own(const std::string& text = kOwnStep) {
    static int number = 0;  // the interpreter is one, and each file another module
    JobSpec job = small_dcgan(images());
    const auto name = [&](const char* class_name, std::string arguments = {}) {
      const std::string file = fmt::format("own{}.py", number);
      return ModuleFile{
          {.file = (images().parent_path() / file).string()}, class_name, std::move(arguments)};
    };
    std::ofstream(name("").file) << text;
    job.network("generator").module = name(
        "Generator",
        fmt::format(R"({{"latent": {}, "side": {}}})", job.model.latent, job.model.resolution));
    job.network("discriminator").module =
        name("Judge", fmt::format(R"({{"side": {}}})", job.model.resolution));
    job.training.step = name("Step");
    job.layout.python = ".venv";
    ++number;
    python::open_python(job, job.layout, [](const std::string&) {});
    return job;
  }
};

TEST_F(OwnStepGraphs, HaveTheBitsOfPlainStepsWhereAllPhasesMayBeRecorded) {
  JobSpec job = own();
  job.layout.check_steps = 5;  // proven anew
  constexpr std::int64_t kMoreSteps = 12;
  const Outcome reference = run(job, 1, kMoreSteps);
  const Outcome found = recorded<SeededRecorder>(job, kMoreSteps);
  EXPECT_EQ(found.digest, reference.digest);
  EXPECT_TRUE(same_losses(found, reference));
  // A call a graph, and one before them: two phases.
  EXPECT_EQ(calls_[0].recorded, 2 * (job.training.microbatches + 1));
  EXPECT_GE(calls_[0].played, 9 * calls_[0].recorded);
  job.numerics.device = DeviceKind::kCuda;
  EXPECT_TRUE(records_steps(job, resolve_layout(job, 1))) << "by the estimate of its memory";
}

TEST_F(OwnStepGraphs, EndTheTrainingWhereARecordedStepNoLongerIsThePhases) {
  JobSpec job = own();
  job.layout.check_steps = 6;
  try {
    (void)recorded<FadingRecorder<5>>(job, 7);
    FAIL() << "nobody noticed";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("training.step: step 6 as it was recorded"));
  }
  job = small_dcgan(images());
  job.layout.check_steps = 6;
  for (const GraphChoice choice : {GraphChoice::kBranches, GraphChoice::kOverlap}) {
    job.layout.cuda_graph = choice;
    EXPECT_THROW((void)recorded<FadingRecorder<5>>(job, 7), InvariantError);
  }
}

TEST_F(OwnStepGraphs, AreNotOfAPhaseThatDoesNotSaySo) {
  std::string text = kOwnStep;
  text.replace(text.rfind(", capture=True"), 14, "");
  const JobSpec job = own(text);
  EXPECT_EQ(recorded<ComputingRecorder>(job, kSteps).digest, run(job, 1, kSteps).digest);
  EXPECT_EQ(calls_[0].recorded, 0);
  EXPECT_EQ(why_not_recorded(job, resolve_layout(job, 1)),
            "phase make of training.step is not marked capture=True");
}

TEST_F(StepGraphs, IsOffWhereTheJobSaysSo) {
  JobSpec job = small_dcgan(images());
  job.layout.cuda_graph = GraphChoice::kOff;
  (void)recorded<ComputingRecorder>(job, kSteps);
  EXPECT_EQ(calls_[0].recorded, 0);
}

}  // namespace
}  // namespace gangway::fidelity
