// SPDX-License-Identifier: MIT
#include "launch/profile/one_worker.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <ATen/Parallel.h>
#include <malloc.h>
#include <torch/version.h>

#include "data/open_dataset.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/layout/microbatch_ranges.hpp"
#include "pipeline/executor.hpp"
#include "pipeline/stages/stage_schedule.hpp"

namespace gangway::launch {
namespace {

using Clock = std::chrono::steady_clock;
using pipeline::Instruction;
using pipeline::Operation;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Records the time of each instruction: at once, or, on an asynchronous device, after the device
/// has finished them all.
class TimedOperations final : public pipeline::Operations {
 public:
  /// @param marks  null: calls return when their work is done
  TimedOperations(pipeline::Operations& operations, worker::DeviceMarks* marks,
                  InstructionSamples& samples)
      : operations_(operations), marks_(marks), samples_(samples) {}

  void perform(const Instruction& at) override {
    if (marks_ != nullptr) {
      marks_->mark(marked_calls_.size());
      marked_calls_.push_back(at);
      return operations_.perform(at);
    }
    const auto begin = Clock::now();
    operations_.perform(at);
    add(at, seconds_since(begin));
  }
  /// @pre the device has finished its work
  void read_marks() {
    const std::optional<std::vector<worker::DeviceStretch>> stretches = marks_->take();
    for (const worker::DeviceStretch& stretch : stretches.value()) {
      add(marked_calls_[stretch.tag], stretch.seconds);
    }
  }

 private:
  void add(const Instruction& at, double seconds) {
    if (at.operation == Operation::kAwait) {
      // Without overlap, the wait directly follows its reduce.
      samples_[{Operation::kReduce, at.network, at.phase}].back() += seconds;
    } else {
      samples_[{at.operation, at.network, at.phase, at.pass, at.node}].push_back(seconds);
    }
  }

  pipeline::Operations& operations_;
  worker::DeviceMarks* marks_;
  InstructionSamples& samples_;
  std::vector<Instruction> marked_calls_;
};

std::vector<pipeline::Phase> in_every_step(std::vector<pipeline::Phase> phases) {
  for (pipeline::Phase& phase : phases) {
    phase.interval = 1;
  }
  return phases;
}

/// Returns the job without an end, with all micro-batches on this worker, for any layout.
JobSpec of_one_worker(JobSpec job) {
  constexpr double kEndless = 1e6;
  job.training.kimg = kEndless;
  job.layout.check_steps = 0;
  job.layout.audit = false;
  job.layout.data = 0;
  job.layout.shares.clear();
  job.layout.stages = 1;
  job.layout.in_flight = 0;
  std::ranges::fill(job.layout.networks, NetworkPlacement());
  return job;
}

}  // namespace

void keep_freed_memory() {
  (void)mallopt(M_MMAP_MAX, 0);
  (void)mallopt(M_TRIM_THRESHOLD, -1);
}

std::unique_ptr<worker::ComputeDevice> make_lone_device(const JobSpec& job,
                                                        const worker::DeviceMaker& make) {
  const worker::Neighbours nobody{
      .hosts = {0},
      .memory = comm::HostMemory::alone(0, job.networks.size() * comm::kFlagsPerNetwork)};
  return make(job, job.layout, nobody, /*worker=*/0);
}

OneWorker::OneWorker(const JobSpec& job, std::unique_ptr<worker::ComputeDevice> device)
    : job_(of_one_worker(job)),
      all_{0, job.training.microbatches},
      phases_(gan::phases_of(job_, TORCH_VERSION)),
      scheduled_(in_every_step(phases_)),
      device_(std::move(device)),
      marks_(device_->make_marks()) {
  const int threads = job_.numerics.threads;
  at::set_num_threads(threads);
  const worker::Placement placement{.worker = 0, .layout = resolve_layout(job_, 1), .hosts = {0}};
  replica_.emplace(job_, placement,
                   comm::HostMemory::alone(0, job_.networks.size() * comm::kFlagsPerNetwork),
                   *device_);
  lane_ = std::make_unique<comm::Lane>([] {});
  lane_->wait(lane_->submit([threads] { at::set_num_threads(threads); }));
  lane_->listen_to(replica_->host(), comm::Lane::Core::kShared);
  dataset_ = data::open_dataset(job_.data, job_.model, job_.training.seed);
  exchange_.emplace(worker::ExchangeSetup{.transport = transport_,
                                          .lane = *lane_,
                                          .host = replica_->host(),
                                          .ranges = placement.layout.shared_ranges(),
                                          .hosts = placement.hosts,
                                          .num_microbatches = job_.training.microbatches});
  reals_.emplace(job_, *dataset_, all_, 0, nullptr, [this](const worker::StagingSetup& staging) {
    return device_->make_staging(staging);
  });
  operations_.emplace(
      worker::StepOperationsSetup{.job = job_,
                                  .options = job_,
                                  .execution = job_.layout,
                                  .phases = phases_,
                                  .networks = replica_->networks(),
                                  .reals = *reals_,
                                  .exchange = *exchange_,
                                  .exchanges = device_->connect(replica_->networks(), *exchange_),
                                  .device = device_->device(),
                                  .local = all_,
                                  .pools = replica_->pools()});
  if (worker::ImagePools* pools = replica_->pools()) {
    pools->take_up();
  }
}

OneWorker::~OneWorker() {
  operations_.reset();  // releases the exchanges from the lane
  try {
    device_->finish();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): measurements stay valid
  }
  lane_->stop_listening();
}

double OneWorker::run_step(InstructionSamples* samples) {
  const auto begin = Clock::now();
  const std::vector<Instruction> schedule =
      pipeline::one_stage_schedule(scheduled_, all_, step_, Overlap::kNone);
  operations_->begin_step(step_);
  if (samples != nullptr) {
    TimedOperations timed(*operations_, marks_.get(), *samples);
    pipeline::execute(schedule, timed);
    if (marks_ != nullptr) {
      marks_->end();
      device_->wait();
      timed.read_marks();
    }
  } else {
    pipeline::execute(schedule, *operations_);
  }
  device_->wait();
  (void)operations_->take_losses();
  (void)operations_->take_exposures();
  ++step_;
  return seconds_since(begin);
}

}  // namespace gangway::launch
