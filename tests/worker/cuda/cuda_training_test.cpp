// SPDX-License-Identifier: MIT
// The CUDA path on stand-ins that compute as the CPU does must give the same bits as the CPU's
// path.
#include "tests/worker/cuda/cuda_training.hpp"

#include <atomic>
#include <memory>
#include <set>
#include <string_view>
#include <thread>

#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "gan/blocks/build_networks.hpp"
#include "job/estimate/dry_run.hpp"
#include "tests/fidelity/computing_recorder.hpp"
#include "tests/worker/cuda/fake_torch_cuda.hpp"

namespace gangway::fidelity {
namespace {

class EveryCudaJob : public CudaTraining, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(EveryCudaJob, HasTheBitsOfTheCpusPath) {
  NamedJob named = job_breadth(images())[GetParam()];
  for (const std::size_t turn : testing::turns(GetParam(), 36)) {
    const int workers = 1 + static_cast<int>(turn % 4);
    named.job.layout.overlap = static_cast<Overlap>(turn % 3);
    fake::dawdle(1 + GetParam() * 4 + turn);
    expect_bits_of_a_cpu(named.job, workers, named.steps,
                         turn / 12 == 0 ? std::vector<int>() : two_to_a_host(workers));
  }
}

INSTANTIATE_TEST_SUITE_P(Breadth, EveryCudaJob, every_small_job(), name_of_job);

TEST_F(CudaTraining, SendsOnceFromEachHostWithTheSameBits) {
  JobSpec job = small_dcgan(images());
  job.model.width = 48;
  job.training.microbatches = 4;
  job.layout.buckets = 8;
  job.networks[NetworkId{0}].clip_norm = 0.5;
  const auto sent_by_first_host = [&](const JobSpec& layout) {
    (void)fake::take_bytes_sent();
    fake::forget_most_device_bytes();
    const Outcome carried = on_devices(layout, 4, 0, 2, {}, two_to_a_host(4));
    EXPECT_EQ(carried.digest, on_cpu(job, 2).digest);
    EXPECT_TRUE(same_losses(carried, on_cpu(job, 2)));
    double bytes = 0.0;
    for (const auto& [ends, sent] : fake::take_bytes_sent()) {
      bytes += ends.first < 2 && ends.second >= 2 ? static_cast<double>(sent) : 0.0;
    }
    return bytes;
  };
  job.layout.transport = TransportKind::kNccl;
  const double direct = sent_by_first_host(job);
  const std::size_t memory = fake::most_device_bytes();
  for (const TransportKind transport : {TransportKind::kAuto, TransportKind::kHierarchical}) {
    job.layout.transport = transport;
    // Squares of the norm's blocks go between all pairs of workers.
    EXPECT_NEAR(sent_by_first_host(job) / direct, 0.5, 1e-3);
    EXPECT_LT(fake::most_device_bytes(), memory) << "no more than the dry run says";
  }
}

/// Counts LibTorch's additions in place on all threads while it lives: single ones, and lists.
class CountedAdditions {
 public:
  CountedAdditions()
      : handle_(at::addGlobalCallback(
            at::RecordFunctionCallback(&CountedAdditions::begin, &CountedAdditions::end)
                .scopes({at::RecordScope::FUNCTION}))) {
    singles = 0;
    lists = 0;
  }
  CountedAdditions(const CountedAdditions&) = delete;
  CountedAdditions& operator=(const CountedAdditions&) = delete;
  ~CountedAdditions() { at::removeCallback(handle_); }
  inline static std::atomic<int> singles = 0;
  inline static std::atomic<int> lists = 0;

 private:
  struct List final : at::ObserverContext {
    List() { ++depth; }
    ~List() override { --depth; }
    inline static thread_local int depth = 0;
  };
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (std::string_view(function.name()) == "aten::_foreach_add_") {
      ++lists;
      return std::make_unique<List>();
    }
    singles += std::string_view(function.name()) == "aten::add_" && List::depth == 0 ? 1 : 0;
    return nullptr;
  }
  static void end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {}

  at::CallbackHandle handle_;
};

TEST_F(CudaTraining, AddsTheGradientsOfABackwardInOneOperation) {
  const JobSpec job = small_dcgan(images());  // three backwards a micro-batch
  constexpr int kSteps = 2;
  PerNetwork<gan::Network> networks = gan::build_networks(job);
  const std::size_t gradients = 2 * networks[job.id_of("discriminator")].parameters().size() +
                                networks[job.id_of("generator")].parameters().size();
  int singles = 0;
  int lists = 0;  // statistics alone
  {
    const CountedAdditions counted;
    (void)train({.job = job, .workers = 1, .begin = 0, .end = kSteps}, next_folder());
    singles = CountedAdditions::singles;
    lists = CountedAdditions::lists;
  }
  const CountedAdditions counted;
  (void)on_devices(job, 1, 0, kSteps);
  EXPECT_EQ(singles - CountedAdditions::singles,
            kSteps * job.training.microbatches * static_cast<int>(gradients));
  EXPECT_GE(CountedAdditions::lists - lists, kSteps * job.training.microbatches * 3);
}

TEST_F(CudaTraining, TellsTheBytesThatDevicesSend) {
  (void)fake::take_bytes_sent();
  const Outcome carried = on_devices(small_dcgan(images()), 2, 0, 3);
  std::uint64_t sent = 0;
  for (const auto& [ends, bytes] : fake::take_bytes_sent()) {
    sent += bytes;
  }
  EXPECT_GE(carried.sent_bytes, sent / 3 * 2)
      << "the last update may still be sent behind its step";
  EXPECT_LT(carried.sent_bytes, 2 * sent) << "hosts send little beside";
}

TEST_F(CudaTraining, GoesOnFromACheckpointOnAnotherNumberOfWorkers) {
  const JobSpec job = small_dcgan(images());
  const Outcome half = on_devices(job, 3, 0, 1);
  EXPECT_EQ(on_devices(job, 2, 1, 3, half.checkpoint).digest, on_cpu(job, 3).digest);
}

TEST_F(CudaTraining, StopsWhereTheNormOfAGradientIsOutOfBoundsAndNowhereElse) {
  JobSpec job = small_dcgan(images());
  job.training.divergence.gradient_norm = 1e6;
  const std::string bounded = on_cpu(job, 3).digest;
  EXPECT_EQ(on_devices(job, 2, 0, 3).digest, bounded);
  job.networks[NetworkId{0}].clip_norm = 0.5;
  EXPECT_EQ(on_devices(job, 3, 0, 3).digest, on_cpu(job, 3).digest);
  job.training.divergence.gradient_norm = 1e-6;
  try {
    (void)on_devices(job, 1, 0, 3);  // two workers' ends would race
    ADD_FAILURE() << "no gradient is as small";
  } catch (const DivergedError& error) {
    EXPECT_EQ(error.step(), 1);
    EXPECT_NE(std::string(error.what()).find("training.divergence.gradient_norm"),
              std::string::npos);
  }
}

TEST_F(CudaTraining, SkipsUpdatesThatAreNoNumbersAsTheCpusPathDoes) {
  JobSpec job = small_dcgan(images());
  job.layout.check_steps = 1;
  job.layout.audit = true;
  for (NetworkSpec& network : job.networks) {
    network.clip_norm = 1.0;
    network.optimizer.lr = 1e30;  // the second update has NaN
  }
  EXPECT_EQ(on_devices(job, 2, 0, 4).digest, on_cpu(job, 4).digest);
  for (NetworkSpec& network : job.networks) {
    network.clip_norm = 0.0;
    network.precision = Precision::kFp16;  // the scales, which are in the digest, fall
  }
  for (const int workers : {1, 3}) {
    EXPECT_EQ(on_devices(job, workers, 0, 4).digest, on_cpu(job, 4).digest) << workers;
  }
  const Outcome half = on_devices(job, 2, 0, 2);
  EXPECT_EQ(on_devices(job, 3, 2, 4, half.checkpoint).digest, on_cpu(job, 4).digest);
}

TEST_F(CudaTraining, KeepsItsDataOnTheDeviceWithTheSameBits) {
  JobSpec job = small_dcgan(images());
  constexpr std::int64_t kSteps = 6;  // one and a half data passes
  for (const bool mirrors : {false, true}) {
    job.data.mirror = mirrors;
    const std::string expected = on_cpu(job, kSteps).digest;
    JobSpec kept = job;
    kept.data.cache = DataSpec::kAutoCache;
    EXPECT_EQ(on_devices(kept, 2, 0, kSteps).digest, expected) << mirrors;
  }
}

TEST_F(CudaTraining, LooksAtItsDevicesInSomeStepsWithTheSameBits) {
  const JobSpec job = small_dcgan(images());
  const Outcome carried = on_devices(job, 2, 0, 12);
  EXPECT_EQ(carried.device_steps, 2U) << "step 8 of each worker";
  EXPECT_EQ(carried.digest, on_cpu(job, 12).digest);
}

/// The stand-in's graphs contain nothing of LibTorch's work.
TEST_F(CudaTraining, PlaysNoGraphsThatLeaveOtherGradients) {
  JobSpec job = small_dcgan(images());
  job.layout.cuda_graph = GraphChoice::kOn;
  EXPECT_EQ(on_devices(job, 2, 0, 6).digest, on_cpu(job, 6).digest);
}

/// Its graphs contain LibTorch's work.
class RecordingCuda final : public worker::CudaDevice {
 public:
  RecordingCuda(const Job& job, const Execution& execution, Calls& calls)
      : CudaDevice(job, execution, 0, [](const std::string& /*name*/) {}), calls_(calls) {}
  std::unique_ptr<worker::GraphRecorder> make_recorder() override {
    return std::make_unique<ComputingRecorder>(calls_);
  }

 private:
  Calls& calls_;
};

TEST_F(CudaTraining, SendsGradientsBesideRecordedStepsWithTheSameBits) {
  const std::set<std::string> chosen{"Dcgan", "ClippedBoth", "SchedulesOfAllKinds", "VaeDense"};
  std::vector<NamedJob> jobs = job_breadth(images());
  std::erase_if(jobs, [&](const NamedJob& named) { return !chosen.contains(named.name); });
  ASSERT_EQ(jobs.size(), chosen.size());
  constexpr std::int64_t kSteps = 5;
  const auto expect_recorded = [&](const JobSpec& job, int workers) {
    std::vector<Calls> calls(static_cast<std::size_t>(workers));
    const Outcome carried = train(
        {.job = job,
         .workers = workers,
         .end = kSteps,
         .device =
             [&](const Job& of, const Execution& execution, const worker::Neighbours&, int worker) {
               return std::make_unique<RecordingCuda>(of, execution,
                                                      calls[static_cast<std::size_t>(worker)]);
             }},
        next_folder());
    EXPECT_EQ(carried.digest, on_cpu(job, kSteps).digest) << workers << " workers";
    EXPECT_GT(calls.front().recorded, 0);
    EXPECT_EQ(calls.front().given_up, 0);
  };
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    NamedJob& named = jobs[number];
    SCOPED_TRACE(named.name);
    named.job.layout.overlap = Overlap::kWithin;
    named.job.layout.buckets = 8;
    named.job.layout.cuda_graph = GraphChoice::kOverlap;
    for (const std::size_t turn : testing::turns(number, 2)) {
      expect_recorded(named.job, turn == 0 ? 3 : 1);
    }
  }
}

TEST_F(CudaTraining, TellsWhatTheAllocatorOfTheDeviceHas) {
  const JobSpec job = small_dcgan(images());
  messages::MemoryFigures figures{
      .resident_bytes = 9, .used_bytes = 1, .limit_bytes = 2, .limit = "host"};
  std::jthread([&] {  // a thread that computes on the device from then on
    worker::CudaDevice(job, job.layout, 0, [](const std::string& /*name*/) {}).tell_memory(figures);
  })
      .join();
  const messages::MemoryFigures expected{.resident_bytes = 9,
                                         .allocated_bytes = 1,
                                         .reserved_bytes = 2,
                                         .peak_bytes = 3,
                                         .retries = 4,
                                         .used_bytes = 1,
                                         .limit_bytes = 2,
                                         .limit = "host"};
  EXPECT_EQ(figures, expected) << "no driver tells of another limit";
}

TEST_F(CudaTraining, EndsWhereALibraryMayHaveTakenAnotherKernelForWantOfMemory) {
  JobSpec job = small_dcgan(images());
  fake::fail_requests(1);
  EXPECT_THROW((void)on_devices(job, 1, 0, 2), c10::OutOfMemoryError);
  job.numerics.kernels = KernelChoice::kFastest;
  EXPECT_NO_THROW((void)on_devices(job, 1, 0, 2));
  fake::fail_requests(0);
}

/// With networks that are large compared with images and scalars.
TEST_F(CudaTraining, TakesTheMemoryOfDevicesThatTheDryRunSays) {
  JobSpec job = small_dcgan(images());
  job.model.width = 48;
  job.training.microbatches = 4;
  job.layout.buckets = 8;
  const auto expect_as_estimated = [&](int workers) {
    fake::forget_most_device_bytes();
    (void)on_devices(job, workers, 0, 1);
    JobSpec on_gpu = job;
    on_gpu.numerics.device = DeviceKind::kCuda;
    const MemoryEstimate estimate = estimate_memory(on_gpu, workers);
    const auto expected = static_cast<double>(
        workers * (estimate.weights_bytes + estimate.gradients_bytes + estimate.optimizer_bytes));
    const auto most = static_cast<double>(fake::most_device_bytes());
    EXPECT_GE(most, expected) << workers << " workers";
    constexpr double kMebibyte = 1U << 20U;  // per worker: images, statistics, ends of pages
    EXPECT_LE(most, 1.01 * expected + 2 * workers * kMebibyte) << workers << " workers";
  };
  for (const int workers : {1, 2, 4}) {
    expect_as_estimated(workers);
  }
  job.networks[NetworkId{0}].clip_norm = 1.0;
  job.networks[NetworkId{1}].wire = WireFormat::kBf16;
  expect_as_estimated(2);
  job.networks[NetworkId{0}].clip_norm = 0.0;
  job.networks[NetworkId{1}].wire = WireFormat::kFp32;
  job.layout.stages = 2;
  expect_as_estimated(4);
  job.layout.stages = 1;
  job.numerics.order = SumOrder::kNccl;
  expect_as_estimated(2);
}

TEST_F(CudaTraining, ComparesTheReplicasOfAllDevices) {
  JobSpec job = small_dcgan(images());
  job.layout.check_steps = 1;
  EXPECT_EQ(on_devices(job, 2, 0, 3).digest, on_cpu(job, 3).digest);
}

}  // namespace
}  // namespace gangway::fidelity
