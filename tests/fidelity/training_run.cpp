// SPDX-License-Identifier: MIT
#include "tests/fidelity/training_run.hpp"

#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/tools/digest.hpp"
#include "comm/lane.hpp"
#include "coordinator/resume/snapshot_inventory.hpp"
#include "gan/kernels/vector_functions.hpp"
#include "job/file/fingerprint.hpp"
#include "job/layout/layout.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/scratch_folder.hpp"
#include "worker/generation.hpp"

namespace gangway::fidelity {
namespace {

namespace fs = std::filesystem;

/// The reports of one stretch's workers to their coordinator. Thread-safe.
struct Reports {
  std::mutex mutex;  // guards all members below
  std::map<int, messages::CheckpointPart> parts;
  std::map<std::int64_t, StepLosses> losses;
  std::uint64_t device_steps = 0;
  std::uint64_t sent_bytes = 0;
  std::map<std::pair<int, std::int64_t>, messages::UpdateSquares> squares;
  std::map<std::string, Histogram> histograms;

  void take(const messages::Progress& progress) {
    device_steps += progress.figures.device_steps;
    sent_bytes += progress.sent_bytes;
    for (const messages::UpdateFigures& update : progress.updates) {
      messages::UpdateSquares& sum = squares[{update.network, update.update}];
      const messages::UpdateSquares told = update.squares.value_or(messages::UpdateSquares{});
      sum.gradient += told.gradient;
      sum.change += told.change;
      sum.weights += told.weights;
    }
    for (const messages::HistogramPart& part : progress.histograms) {
      histograms[fmt::format("{} {}", part.step, part.tag)].add(part.counts);
    }
    for (const messages::MicrobatchLoss& loss : progress.losses) {
      const auto [told, is_first] = losses[progress.step].emplace(loss.microbatch, loss);
      for (std::size_t i = 0; !is_first && i < loss.by_network.size(); ++i) {
        told->second.by_network[i] += loss.by_network[i];  // parts of networks on separate workers
      }
    }
  }
};

/// A coordinator's side with prepared answers.
class ScriptedLink final : public worker::CoordinatorLink {
 public:
  ScriptedLink(int worker, std::function<messages::Begin(const messages::Inventory&)> begin,
               std::deque<messages::Lease> leases, Reports& reports)
      : worker_(worker), begin_(std::move(begin)), leases_(std::move(leases)), reports_(reports) {}

  messages::Welcome join(const messages::Hello&, std::chrono::milliseconds) override { return {}; }
  messages::Begin ask_begin(const messages::Inventory& inventory,
                            std::chrono::milliseconds) override {
    return begin_(inventory);
  }
  messages::Begin ask_another(const std::optional<messages::Unloadable>& failure,
                              std::chrono::milliseconds) override {
    throw CheckpointError(failure ? failure->reason : "another worker could not load its state");
  }
  messages::Lease next_lease(std::chrono::milliseconds) override {
    messages::Lease lease = leases_.front();
    leases_.pop_front();
    return lease;
  }
  void send(const messages::Message& message) override {
    const std::scoped_lock lock(reports_.mutex);
    if (const auto* part = std::get_if<messages::CheckpointPart>(&message)) {
      reports_.parts[worker_] = *part;
    } else if (const auto* progress = std::get_if<messages::Progress>(&message)) {
      reports_.take(*progress);
    }
  }
  void stop(const messages::Stop&) override {}
  void goodbye(std::chrono::milliseconds) override {}

 private:
  int worker_;
  std::function<messages::Begin(const messages::Inventory&)> begin_;
  std::deque<messages::Lease> leases_;
  Reports& reports_;
};

/// Coordinates generations that begin with the earlier generation's snapshot in memory.
class Meeting {
 public:
  explicit Meeting(int workers) : missing_(workers) {}
  /// Waits for all workers' inventories.
  messages::Begin begin_with(int worker, const messages::Inventory& inventory) {
    {
      const std::scoped_lock lock(mutex_);
      for (const messages::SnapshotPart& part : inventory.parts) {
        inventory_.add(WorkerIndex(worker), part.of, part.worker);
      }
    }
    missing_.arrive_and_wait();
    const auto newest = inventory_.newest_after(0);
    return {
        .attempt = 1, .step = newest ? newest->id.step : 0, .checkpoint = {}, .snapshot = newest};
  }

 private:
  std::mutex mutex_;
  coordinator::SnapshotInventory inventory_;  // guarded by the mutex until it is complete
  std::latch missing_;
};

/// One step alone, then the rest: training must not depend on the leases.
std::deque<messages::Lease> leases_of(const Stretch& stretch, const fs::path& checkpoint) {
  return {{.begin = stretch.begin, .end = stretch.begin + 1},
          {.begin = stretch.begin + 1,
           .end = stretch.end,
           .checkpoint_directory = checkpoint.string(),
           .last = true}};
}

messages::Welcome welcome_of(const Stretch& stretch, const fs::path& run_directory) {
  messages::Welcome welcome;
  welcome.fingerprint = job_fingerprint(stretch.job);
  welcome.run_directory = run_directory.string();
  welcome.layout = resolve_layout(stretch.job, stretch.workers);
  return welcome;
}

checkpoint::Manifest manifest_of(const Stretch& stretch, const Reports& reports,
                                 std::int64_t epoch = 0) {
  const std::int64_t images = stretch.end * stretch.job.images_per_step();
  checkpoint::Manifest manifest{.step = stretch.end,
                                .images = images,
                                .epoch = epoch,
                                .job_yaml = "fidelity: test\n",
                                .job_fingerprint = job_fingerprint(stretch.job),
                                .model_fingerprint = model_fingerprint(stretch.job),
                                .numerics = numerics_text(stretch.job),
                                .data_fingerprint = "tiny",
                                .data_cursor = images,
                                .created = "2026-01-01T00:00:00Z"};
  for (const auto& [worker, part] : reports.parts) {
    if (!part.error.empty()) {
      throw std::runtime_error(part.error);
    }
    manifest.files.push_back({part.file, worker, part.bytes, part.xxh3_128});
  }
  return manifest;
}

std::vector<int> hosts_of(const Stretch& stretch) {
  std::vector<int> hosts = stretch.hosts;
  for (int worker = static_cast<int>(hosts.size()); worker < stretch.workers; ++worker) {
    hosts.push_back(worker);
  }
  return hosts;
}

comm::HostMemory memory_of(const std::vector<int>& hosts, int worker,
                           const messages::Welcome& welcome, std::size_t networks) {
  return comm::HostMemory(
      {.members = comm::workers_of(hosts[static_cast<std::size_t>(worker)], hosts),
       .worker = worker,
       .epoch = welcome.epoch,
       .token = "test" + std::to_string(getpid()) + "x" +
                std::to_string(std::hash<std::string>{}(welcome.run_directory)),
       .num_flags = networks * comm::kFlagsPerNetwork});
}

/// Makes the lane of a worker whose process is this thread.
std::unique_ptr<comm::Lane> new_lane(const JobSpec& job) {
  at::set_num_threads(job.numerics.threads);
  auto lane = std::make_unique<comm::Lane>([] {});
  // OpenMP counts threads per thread: otherwise the lane's updates would use all cores.
  lane->wait(lane->submit([] { at::set_num_threads(1); }));
  return lane;
}

/// Runs a worker's generation on its lane.
void run_generation(const Stretch& stretch, comm::LoopbackHub& hub,
                    const messages::Welcome& welcome, worker::CoordinatorLink& link,
                    comm::Lane& lane, int worker) {
  comm::LoopbackTransport transport(hub, worker, welcome.epoch);
  const std::vector<int> hosts = hosts_of(stretch);
  const worker::DeviceMaker make =
      stretch.device ? stretch.device
                     : [](const Job& job, const Execution&, const worker::Neighbours&, int) {
                         return std::make_unique<worker::CpuDevice>(job);
                       };
  worker::Generation generation(
      {.job = stretch.job,
       .options = stretch.job,
       .welcome = welcome,
       .link = link,
       .transport = transport,
       .lane = lane,
       .make = make,
       .shared_memory = fs::path(welcome.run_directory) / checkpoint::kSnapshotsFolder});
  try {
    (void)generation.begin(
        {.hosts = hosts,
         .memory = memory_of(hosts, worker, welcome, stretch.job.networks.size()),
         .machines = stretch.machines});
    generation.training()->run();
    generation.end();
  } catch (...) {
    hub.kill(worker);  // the other workers fail at once instead of at their deadlines
    throw;
  }
}

/// Returns a key of a training on one worker. The job's fingerprint does not suffice, because these
/// jobs have no hashes of their files.
std::string key_of(const JobSpec& job, std::int64_t steps) {
  std::string files = job.data.source + " " + job.training.style.picture.file;
  for (const NetworkSpec& network : job.networks) {
    files += " " + network.module.file;
  }
  return fmt::format("{} {} {}", job_fingerprint(job), files, steps);
}

}  // namespace

Outcome train(const Stretch& stretch, const fs::path& run_directory) {
  fs::create_directories(run_directory / checkpoint::kSnapshotsFolder);
  const fs::path temporary =
      checkpoint::begin_checkpoint(run_directory / "checkpoints", stretch.end);
  const messages::Welcome welcome = welcome_of(stretch, run_directory);
  comm::LoopbackHub hub(stretch.workers);
  if (stretch.disturbance) {
    hub.inject(stretch.disturbance);
  }
  Reports reports;
  gan::choose_vector_kernels();
  comm::spawn_ranks(stretch.workers, [&](int worker) {
    const messages::Begin begin{
        .attempt = 1, .step = stretch.begin, .checkpoint = stretch.resume.string()};
    ScriptedLink link(
        worker, [&](const messages::Inventory&) { return begin; }, leases_of(stretch, temporary),
        reports);
    const std::unique_ptr<comm::Lane> lane = new_lane(stretch.job);
    run_generation(stretch, hub, welcome, link, *lane, worker);
  });
  Outcome outcome{
      .checkpoint = checkpoint::commit_checkpoint(temporary, manifest_of(stretch, reports)),
      .losses = reports.losses,
      .device_steps = reports.device_steps,
      .sent_bytes = reports.sent_bytes,
      .squares = reports.squares,
      .histograms = reports.histograms};
  outcome.digest = checkpoint::digest(outcome.checkpoint);
  return outcome;
}

Outcome train_generations(const JobSpec& job, const std::vector<Stretch>& generations,
                          const fs::path& run_directory) {
  fs::create_directories(run_directory / checkpoint::kSnapshotsFolder);
  const Stretch& last = generations.back();
  const fs::path temporary = checkpoint::begin_checkpoint(run_directory / "checkpoints", last.end);
  Reports reports;
  std::deque<comm::LoopbackHub> hubs;
  std::deque<Meeting> meetings;
  for (const Stretch& stretch : generations) {
    hubs.emplace_back(stretch.workers);
    meetings.emplace_back(stretch.workers);
  }
  gan::choose_vector_kernels();
  comm::spawn_ranks(generations.front().workers, [&](int worker) {
    const std::unique_ptr<comm::Lane> lane = new_lane(job);
    for (std::size_t epoch = 0; epoch < generations.size(); ++epoch) {
      const Stretch& stretch = generations[epoch];
      if (worker >= stretch.workers) {
        return;
      }
      messages::Welcome welcome = welcome_of(stretch, run_directory);
      welcome.epoch = static_cast<std::int64_t>(epoch) + 1;
      std::deque<messages::Lease> leases{
          {.begin = stretch.begin, .end = stretch.end, .last = true}};
      if (epoch + 1 == generations.size()) {
        leases.front().checkpoint_directory = temporary.string();
      } else {
        leases.front().snapshots = {stretch.end};
      }
      ScriptedLink link(
          worker,
          [&](const messages::Inventory& inventory) {
            return meetings[epoch].begin_with(worker, inventory);
          },
          std::move(leases), reports);
      run_generation(stretch, hubs[epoch], welcome, link, *lane, worker);
    }
  });
  Outcome outcome{
      .checkpoint = checkpoint::commit_checkpoint(
          temporary, manifest_of(last, reports, static_cast<std::int64_t>(generations.size()))),
      .losses = reports.losses,
      .device_steps = reports.device_steps,
      .sent_bytes = reports.sent_bytes,
      .squares = reports.squares,
      .histograms = reports.histograms};
  outcome.digest = checkpoint::digest(outcome.checkpoint);
  return outcome;
}

const Outcome& trained_alone(const JobSpec& job, std::int64_t steps) {
  static std::map<std::string, Outcome> outcomes;
  static const testing::ScratchFolder folder;
  const std::string key = key_of(job, steps);
  auto found = outcomes.find(key);
  if (found == outcomes.end()) {
    JobSpec alone = job;
    alone.layout = LayoutChoice::of(*job.training.recipe);
    const auto run = folder.path() / std::to_string(outcomes.size());
    found = outcomes.emplace(key, train({.job = alone, .end = steps}, run)).first;
  }
  return found->second;
}

std::map<std::string, at::Tensor> tensors_of(const fs::path& checkpoint) {
  checkpoint::StoredState state(checkpoint);
  std::map<std::string, at::Tensor> tensors;
  for (const checkpoint::StoredTensor& stored : state.tensors()) {
    if (stored.type == checkpoint::ElementType::kF32) {
      at::Tensor tensor = at::empty(stored.shape, at::kFloat);
      state.read_row_major(stored, std::as_writable_bytes(std::span(
                                       tensor.mutable_data_ptr<float>(), stored.num_elements())));
      tensors[stored.name] = tensor;
    }
  }
  return tensors;
}

bool is_finite(const Outcome& outcome) {
  for (const auto& [step, losses] : outcome.losses) {
    for (const auto& [microbatch, loss] : losses) {
      if (!std::ranges::all_of(loss.by_network,
                               [](double value) { return std::isfinite(value); })) {
        return false;
      }
    }
  }
  for (const auto& [name, tensor] : tensors_of(outcome.checkpoint)) {
    if (!at::isfinite(tensor).all().item<bool>()) {
      return false;
    }
  }
  return true;
}

bool same_losses(const Outcome& left, const Outcome& right) {
  const auto same = [](const messages::MicrobatchLoss& a, const messages::MicrobatchLoss& b) {
    return std::ranges::equal(a.by_network, b.by_network, [](double one, double other) {
      return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
    });
  };
  if (left.losses.size() != right.losses.size()) {
    return false;
  }
  for (const auto& [step, losses] : left.losses) {
    const auto other = right.losses.find(step);
    if (other == right.losses.end() || other->second.size() != losses.size()) {
      return false;
    }
    for (const auto& [microbatch, loss] : losses) {
      if (!other->second.contains(microbatch) || !same(loss, other->second.at(microbatch))) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace gangway::fidelity
