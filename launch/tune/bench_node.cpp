// SPDX-License-Identifier: MIT
#include "launch/tune/bench_node.hpp"

#include <algorithm>
#include <bit>
#include <ctime>
#include <functional>
#include <iostream>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/processor.hpp"
#include "base/system/usable_cores.hpp"
#include "base/this_host.hpp"
#include "base/units.hpp"
#include "bench/command/bench_allreduce.hpp"
#include "launch/hosts/gpus.hpp"
#include "launch/process/child.hpp"
#include "launch/process/end_requests.hpp"
#include "launch/process/quiet_machine.hpp"
#include "launch/process/temporary_folder.hpp"
#include "launch/process/time_limit.hpp"
#include "launch/tune/bench_job.hpp"
#include "launch/tune/bench_page.hpp"
#include "launch/tune/trial_bench.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// As many as `gangway bench allreduce` takes.
constexpr int kMostWorkers = 64;
/// A run that is told to end may take so long; a short limit has a part of itself.
constexpr double kSecondsToEnd = 15.0;
constexpr double kPartToEnd = 0.4;

/// What is trained: a DCGAN (Radford et al., 2016) on pictures made up here, so that it needs
/// nothing that a machine may lack. A GPU gets one that keeps it busy.
struct NodeJob {
  int resolution = 32;
  int width = 32;
  int images_of_microbatch = 8;
  int least_batch = 64;
};
constexpr NodeJob kOnCores{};
constexpr NodeJob kOnGpus{
    .resolution = 64, .width = 64, .images_of_microbatch = 64, .least_batch = 64};

DeviceKind device_of(const BenchNodeOptions& options) {
  if (options.device == DeviceKind::kAuto) {
    return usable_gpus() > 0 ? DeviceKind::kCuda : DeviceKind::kCpu;
  }
  if (options.device == DeviceKind::kCuda && num_gpus() == 0) {
    throw EnvironmentError(
        "--device cuda: NVIDIA's driver shows no GPU on this host; measure its cores with --device "
        "cpu");
  }
  return options.device;
}

/// One worker, and twice as many each time; two at least: their digests are to be compared.
std::vector<int> default_numbers(DeviceKind device) {
  const int most =
      std::clamp(device == DeviceKind::kCuda ? num_gpus() : usable_cores(), 2, kMostWorkers);
  std::vector<int> numbers;
  for (int number = 1; number <= most; number *= 2) {
    numbers.push_back(number);
  }
  return numbers;
}

/// Gray ramps, each with another slope, as one file of raw bytes that workers keep in memory.
void write_pictures(const fs::path& file, int side) {
  constexpr int kPictures = 4096;
  std::string bytes{0, 0, 8, 3};  // unsigned bytes, three axes: the format of MNIST's files
  for (const int size : {kPictures, side, side}) {
    for (const int shift : {24, 16, 8, 0}) {
      bytes.push_back(
          static_cast<char>(static_cast<unsigned>(size) >> static_cast<unsigned>(shift)));
    }
  }
  for (int picture = 0; picture < kPictures; ++picture) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        bytes.push_back(
            static_cast<char>((x * (picture % 7) + y * (picture % 11) + picture) % 256));
      }
    }
  }
  write_file_atomically(file, bytes);
}

const NodeJob& job_for(DeviceKind device) {
  return device == DeviceKind::kCuda ? kOnGpus : kOnCores;
}

/// @param workers  the largest number: each can have a micro-batch
std::string job_text(DeviceKind device, int workers, const std::string& pictures) {
  const NodeJob& job = job_for(device);
  const auto microbatches =
      static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(workers, 2))));
  return fmt::format(
      "model: {{family: dcgan, resolution: {}, width: {}, latent: 100}}\n"
      "data: {{source: 'idx:{}'}}\n"
      "training: {{batch: {}, microbatches: {}, kimg: 1}}\n"
      "numerics: {{device: {}}}\n"
      "checkpoint: {{every_kimg: 0, keep: 1}}\n"
      "output: {{pictures_kimg: 0}}\n",
      job.resolution, job.width, pictures,
      std::max(job.least_batch, job.images_of_microbatch * microbatches), microbatches,
      device == DeviceKind::kCuda ? "cuda" : "cpu");
}

/// Its file in `folder`, and its pictures.
fs::path write_job(const fs::path& folder, DeviceKind device, int workers) {
  const fs::path pictures = folder / "train-images-idx3-ubyte";
  write_pictures(pictures, job_for(device).resolution);
  write_file_atomically(folder / "node.yaml", job_text(device, workers, pictures.string()));
  return folder / "node.yaml";
}

json machine() {
  struct sysinfo info {};
  ::sysinfo(&info);
  json gpus = json::array();
  for (const Gpu& gpu : read_gpus()) {
    gpus.push_back({{"name", gpu.name},
                    {"memory_gib", gpu.memory_gib},
                    {"driver", gpu.driver},
                    {"capability", gpu.capability}});
  }
  return {{"processor", this_processor().model},
          {"cores", usable_cores()},
          {"memory_gib", static_cast<double>(info.totalram) * info.mem_unit / kGibibyte},
          {"gpus", gpus}};
}

/// What `gangway doctor` says; another process, for it may be told to end.
json findings() {
  const ChildOutput output = output_of_child(
      {(program_folder() / "gangway").string(), "doctor", "--json"}, ToldToEnd::kAtOnce);
  const json found = json::parse(output.text, nullptr, false);
  if (!found.is_object()) {
    throw EnvironmentError("'gangway doctor --json' failed: " + output.text);
  }
  return found["findings"];
}

void require_place(const fs::path& output) {
  const fs::path folder = fs::absolute(output).parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw EnvironmentError(
        fmt::format("{}: no file can be written there; name another place with "
                    "-o",
                    folder.string()));
  }
}

class NodeBench {
 public:
  NodeBench(const BenchNodeOptions& options, const Environment& environment)
      : options_(options),
        environment_(environment),
        device_(device_of(options)),
        workers_(options.workers.empty() ? default_numbers(device_) : options.workers),
        limit_(std::chrono::duration<double>(
            60.0 * options.minutes - std::min(kSecondsToEnd, kPartToEnd * 60.0 * options.minutes))),
        job_({.job = write_job(folder_.path(), device_, std::ranges::max(workers_)),
              .overrides = options.overrides,
              .workers = workers_,
              .losses = 1,
              .is_scored = false,
              .limit = &limit_}) {}

  [[nodiscard]] json report() {
    require_sound_job();
    const std::string busy = work_of_others();
    if (!busy.empty()) {
      std::cerr << "gangway: NOT QUIET: " << busy << std::endl;
    }
    json all = {{"gangway", GANGWAY_VERSION},
                {"host", host_name()},
                {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                {"machine", machine()},
                {"device", device_ == DeviceKind::kCuda ? "cuda" : "cpu"},
                {"busy", busy}};
    measure(all["findings"], "what gangway doctor finds", findings);
    measure(all["job"], "a job on 1 worker and more",
            [this] { return measured_job(job_, environment_, folder_.path()); });
    measure(all["transports"], "how fast workers exchange", [this] { return transports(); });
    if (const int gpus = num_gpus(); device_ == DeviceKind::kCuda && gpus > 1) {
      measure(all["nccl"], "how fast GPUs exchange",
              [&] { return bench::measured_nccl(gpus, environment_); });
    }
    if (all["job"].is_object()) {
      const json& failures = all["job"]["failures"];
      failures_.insert(failures_.begin(), failures.begin(), failures.end());
    }
    all["job_yaml"] = job_text(device_, std::ranges::max(workers_), "RAMPS");
    all["failures"] = failures_;
    all["seconds"] = limit_.seconds_taken();
    return all;
  }

 private:
  /// A slip on the command line is told before anything is measured.
  void require_sound_job() const {
    if (const auto most = std::ranges::max(workers_); most > kMostWorkers) {
      throw ConfigError(
          fmt::format("--workers {}: at most {} can be measured", most, kMostWorkers));
    }
    require_programs(device_);
    (void)TrialBench({.job = job_.job,
                      .typed = job_.overrides,
                      .folder = folder_.path(),
                      .environment = environment_});
  }

  [[nodiscard]] json transports() const {
    constexpr double kLeastSeconds = 0.1;
    constexpr double kMostSeconds = 1.0;
    constexpr double kPart = 0.4 / 12.0;  // of the time that is left, a row at a size
    constexpr double kFewSeconds = 30.0;  // where cores are shared, large blocks take long
    const bool is_short = limit_.seconds_left() < kFewSeconds;
    return bench::measured_allreduce(
        {.workers = {std::max(2, std::ranges::max(workers_))},
         .sizes = is_short ? "1M,16M" : "1M,16M,64M",
         .rounds = is_short ? 3 : 5,
         .seconds = std::clamp(kPart * limit_.seconds_left(), kLeastSeconds, kMostSeconds)},
        environment_);
  }

  void measure(json& into, const char* what, const std::function<json()>& of) {
    if (limit_.is_over()) {
      return;
    }
    std::cout << "measures " << what << std::endl;
    try {
      into = of();
    } catch (const SignalledError&) {
      if (!limit_.is_over()) {
        throw;
      }
      failures_.push_back(fmt::format("{}: the time was over: give it more --minutes", what));
    } catch (const ConfigError&) {
      throw;
    } catch (const Error& error) {
      failures_.push_back(fmt::format("{}: {}", what, reason_in(error.what())));
    }
  }

  const BenchNodeOptions& options_;
  const Environment& environment_;
  DeviceKind device_;
  std::vector<int> workers_;
  TemporaryFolder folder_;
  TimeLimit limit_;
  BenchJobOptions job_;
  std::vector<std::string> failures_;
};

}  // namespace

int bench_node(const BenchNodeOptions& options, const Environment& environment) {
  const EndRequests requests;
  require_place(options.output);
  NodeBench bench(options, environment);
  const json report = bench.report();
  const std::string output = options.output.string();
  write_report(output, report, node_page(report));
  std::cout << '\n'
            << node_text(report) << fmt::format("{0}.json, {0}.html\n", output) << std::flush;
  if (report["job"].is_object() && !report["job"]["unequal_digests"].is_null()) {
    throw Error(ExitCode::kInternal, report["job"]["unequal_digests"].get<std::string>());
  }
  if (!report["failures"].empty()) {
    throw EnvironmentError(report["failures"].front().get<std::string>());
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace gangway::launch
