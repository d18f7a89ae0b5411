// SPDX-License-Identifier: MIT
#include "launch/profile/measure_profile.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/processor.hpp"
#include "base/system/usable_cores.hpp"
#include "base/this_host.hpp"
#include "comm/arena/tree_sum.hpp"
#include "data/loader.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/process/measuring_progress.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/terminal_width.hpp"
#include "launch/profile/block_costs.hpp"
#include "launch/profile/device_time.hpp"
#include "launch/profile/host_links.hpp"
#include "launch/profile/live_bytes.hpp"
#include "launch/profile/one_worker.hpp"
#include "launch/profile/together.hpp"
#include "plan/memory.hpp"
#include "plan/partial_sums.hpp"
#include "plan/profiles/profile.hpp"
#include "plan/profiles/profile_text.hpp"

namespace gangway::launch {
namespace {

using Clock = std::chrono::steady_clock;

// Fractions of the measuring time.
constexpr double kTogetherShare = 0.4;
constexpr double kStepsShare = 0.35;
constexpr double kBlocksShare = 0.25;
constexpr int kMostTogether = 8;
constexpr int kWarmUpSteps = 3;
constexpr int kFewestSteps = 5;
constexpr int kMostSteps = 400;
constexpr int kWakes = 200;
/// Larger than caches, like the arenas of networks that are worth dividing.
constexpr std::size_t kAddedElements = std::size_t{4} << 20U;

/// Returns the bytes of a line of /proc/self/status, such as "VmHWM:".
std::int64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(key)) {
      std::istringstream words(line.substr(key.size()));
      std::int64_t kibibytes = 0;
      words >> kibibytes;
      return kibibytes * 1024;
    }
  }
  return 0;
}

/// Keeps two micro-batches of the job: the first clears gradients, the last does not.
JobSpec measured_job(JobSpec job) {
  const int images = job.images_per_microbatch();
  job.training.microbatches = std::min(2, job.training.microbatches);
  job.training.batch = images * job.training.microbatches;
  job.layout.recompute = false;  // its cost follows from the forwards
  return job;
}

std::vector<plan::BucketSize> buckets_of(worker::NetworkState& state) {
  // Finds the block of each gradient by parameter, in the order of the layout.
  const std::vector<gan::Network::NamedParameter> parameters = state.network().parameters();
  const std::vector<comm::ArenaEntry>& entries = state.layout().parameters();
  std::vector<plan::BucketSize> buckets;
  for (std::size_t i = 0; i < state.plan().num_buckets(); ++i) {
    const comm::ElementRange range = state.plan().bucket(i);
    plan::BucketSize bucket{.elements = static_cast<std::int64_t>(range.size())};
    for (std::size_t entry = 0; entry < entries.size() && entry < parameters.size(); ++entry) {
      if (entries[entry].offset + entries[entry].elements > range.begin) {
        bucket.first_block = static_cast<int>(parameters[entry].block);
        break;
      }
    }
    buckets.push_back(bucket);
  }
  return buckets;
}

std::vector<plan::NetworkCost> network_costs(OneWorker& worker) {
  std::vector<plan::NetworkCost> costs;
  const PerNetwork<worker::NetworkState*> states = worker.networks();
  for (const NetworkId id : states.ids()) {
    worker::NetworkState& state = *states[id];
    costs.push_back({.name = worker.job().networks[id].name,
                     .parameters = state.num_parameters(),
                     .arena_elements = static_cast<std::int64_t>(state.layout().size()),
                     .moments = static_cast<int>(state.moments().size()),
                     .is_averaged = state.average() != nullptr,
                     .is_frozen = state.is_frozen(),
                     .buckets = buckets_of(state)});
  }
  return costs;
}

/// Runs steps for `seconds` and records their costs.
void measure_steps(OneWorker& worker, double seconds, plan::Profile& profile,
                   const MeasuredSeconds& tell) {
  InstructionSamples samples;
  std::vector<double> steps;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (static_cast<int>(steps.size()) < kFewestSteps ||
         (static_cast<int>(steps.size()) < kMostSteps && Clock::now() < end)) {
    steps.push_back(worker.run_step(&samples));
    tell(0.0, "steps");
  }
  tell(seconds, "blocks");
  profile.step = plan::timing_of(std::move(steps));
  std::map<NetworkId, std::vector<double>> updates;
  for (const auto& [kind, seconds_of] : samples) {
    const std::string& network = worker.job().networks[kind.network].name;
    profile.instructions.push_back({.operation = kind.operation,
                                    .network = network,
                                    .phase = kind.phase,
                                    .pass = kind.pass,
                                    .node = kind.node,
                                    .time = plan::timing_of(seconds_of)});
    if (kind.operation == pipeline::Operation::kReduce) {
      std::ranges::copy(seconds_of, std::back_inserter(updates[kind.network]));
    }
  }
  for (const auto& [network, seconds_of] : updates) {
    profile.networks[static_cast<std::size_t>(network)].update = plan::timing_of(seconds_of);
  }
}

double seconds_per_image(OneWorker& worker) {
  const JobSpec& job = worker.job();
  const data::SampleOrder order(job.training.seed, worker.dataset().size());
  const data::LoaderOptions options{
      .mirror = job.data.mirror ? data::Mirror::kKeyed : data::Mirror::kOff,
      .augment = job.data.augment,
      .pictures = job.data.has_two_sides() ? 2 : 1};
  data::Batch batch;
  std::vector<double> samples;
  for (int i = 0; i < kFewestSteps; ++i) {
    const auto begin = Clock::now();
    const int count = job.images_per_microbatch();
    data::read_batch(worker.dataset(), order, options,
                     {.first_sample = std::int64_t{i} * count, .count = count}, batch);
    samples.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / count);
  }
  return plan::timing_of(std::move(samples)).seconds;
}

/// Measures additions in the device's own memory.
double seconds_to_add_a_byte_on(worker::ComputeDevice& device) {
  DeviceTime time(device);
  const auto elements = static_cast<std::int64_t>(kAddedElements);
  const at::Tensor from = at::ones({elements}, device.device());
  at::Tensor to = at::ones_like(from);
  std::vector<double> samples;
  for (int i = 0; i < kFewestSteps; ++i) {
    samples.push_back(time.of([&] { to.add_(from); }) / static_cast<double>(from.nbytes()));
  }
  return plan::timing_of(std::move(samples)).seconds;
}

double seconds_to_add_a_byte() {
  std::vector<float> to(kAddedElements, 1.0F);
  const std::vector<float> from(kAddedElements, 2.0F);
  std::vector<double> samples;
  for (int i = 0; i < kFewestSteps; ++i) {
    const auto begin = Clock::now();
    comm::add_in_place(to.data(), from.data(), kAddedElements);
    samples.push_back(std::chrono::duration<double>(Clock::now() - begin).count() /
                      static_cast<double>(kAddedElements * sizeof(float)));
  }
  return plan::timing_of(std::move(samples)).seconds;
}

double seconds_to_wake(comm::Lane& lane) {
  std::vector<double> samples;
  for (int i = 0; i < kWakes; ++i) {
    const auto begin = Clock::now();
    lane.wait(lane.submit([] {}));
    samples.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return plan::timing_of(std::move(samples)).seconds;
}

plan::Profile profile_of_this_machine(const ProfileOptions& options, const JobSpec& job) {
  const std::string model = this_processor().model;
  return {.job = options.job.string(),
          .costs_hash = plan::costs_fingerprint(job),
          .model_hash = model_fingerprint(job),
          .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
          .host = host_name(),
          .processor = model.empty() ? "unknown" : model,
          .libtorch = TORCH_VERSION,
          .cores = usable_cores(),
          .memory_bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE),
          .images_per_microbatch = job.images_per_microbatch(),
          .threads = job.numerics.threads,
          .own_phases = job.training.own.phases};
}

/// Records the compute device, if it is not the host's processor.
void take_down(const worker::ComputeDevice& device, plan::Profile& profile) {
  if (const std::optional<worker::DeviceMemory> memory = device.memory()) {
    profile.processor = device.kind();
    profile.devices = memory->num_devices;
    profile.memory_bytes = memory->total_bytes;
  }
}

/// Returns the used memory of the device; on a CPU, the process's, from that line of
/// status_bytes().
std::int64_t used_bytes(const worker::ComputeDevice& device, const std::string& line) {
  const std::optional<worker::DeviceMemory> memory = device.memory();
  return memory ? memory->used_bytes : status_bytes(line);
}

/// Returns the bytes of a lone worker's arenas.
std::int64_t arenas_bytes(const JobSpec& measured, const plan::Profile& profile,
                          const OneWorker& worker) {
  const int microbatches = measured.training.microbatches;
  const plan::PartialSums sums = plan::partial_sums({0, microbatches}, microbatches);
  return plan::worker_memory(
             measured, profile,
             {.sums = sums,
              .partials_of_host = sums.partials,
              .agrees = std::ranges::any_of(worker.phases(), &pipeline::Phase::agrees)},
             microbatches)
      .arenas_bytes;
}

}  // namespace

JobSpec profiled_job(const ProfileOptions& options, const Environment& environment) {
  return load_followed({.file = options.job,
                        .overrides = options.overrides,
                        .environment = gangway_variables(environment)})
      .spec;
}

int measure_profile(const ProfileOptions& options, const JobSpec& job,
                    const Environment& environment, const worker::DeviceMaker& make) {
  const JobSpec measured = measured_job(job);
  const std::filesystem::path output =
      options.output.empty() ? plan::default_profile_file(options.job) : options.output;
  {
    const AtomicFile probe(output);
  }  // rejects a bad job before measuring; holds nothing meanwhile
  std::unique_ptr<worker::ComputeDevice> device = make_lone_device(measured, make);
  require_quiet_machine(options.anyway);
  std::optional<comm::LinkTable> links;  // measured before this process starts other work
  if (!options.hostfile.empty()) {
    links = measure_host_links(options.hostfile, environment);
  }
  keep_freed_memory();
  plan::Profile profile = profile_of_this_machine(options, job);
  MeasuringProgress progress(std::cout, terminal_width(), options.seconds);
  const MeasuredSeconds tell = [&progress](double seconds, const std::string& what) {
    progress.advance(seconds, what);
  };
  if (job.numerics.device == DeviceKind::kCpu) {  // a GPU has one worker
    const int together = std::clamp(profile.cores / job.numerics.threads, 1, kMostTogether);
    const double rounds = together * (together + 1.0);
    profile.together =
        slowdown_together(measured, together, options.seconds * kTogetherShare / rounds, tell);
  }
  progress.advance_to(options.seconds * kTogetherShare, "steps");
  take_down(*device, profile);
  profile.memory.process_bytes = used_bytes(*device, "VmRSS:");
  OneWorker worker(measured, std::move(device));
  profile.networks = network_costs(worker);
  profile.step_microbatches = measured.training.microbatches;
  for (int step = 0; step < kWarmUpSteps; ++step) {
    (void)worker.run_step();
  }
  {
    const LiveBytes live;
    (void)worker.run_step();
    profile.memory.working_bytes = live.most();
  }
  const std::int64_t arenas = arenas_bytes(measured, profile, worker);
  measure_steps(worker, options.seconds * kStepsShare, profile, tell);
  // The allocator's cache grows for some steps.
  profile.memory.other_bytes = std::max<std::int64_t>(0, used_bytes(worker.device(), "VmHWM:") -
                                                             profile.memory.process_bytes -
                                                             profile.memory.working_bytes - arenas);
  profile.data_seconds_per_image = seconds_per_image(worker);
  profile.wake_seconds = seconds_to_wake(worker.lane());
  profile.add_seconds_per_byte = worker.device().lags_behind()
                                     ? seconds_to_add_a_byte_on(worker.device())
                                     : seconds_to_add_a_byte();
  std::size_t blocks = 0;
  for (worker::NetworkState* state : worker.networks()) {
    blocks += state->network().num_blocks();
  }
  profile.blocks = block_costs(worker,
                               options.seconds * kBlocksShare /
                                   (3.0 * static_cast<double>(std::max<std::size_t>(1, blocks))),
                               tell);
  progress.finish();
  profile.links = std::move(links);
  write_file_atomically(output, to_json(profile));
  fmt::print("{}written to {}\n", profile_text(profile, worker.phases(), worker.job()),
             output.string());
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace gangway::launch
