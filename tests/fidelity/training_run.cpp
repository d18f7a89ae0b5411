// SPDX-License-Identifier: MIT
#include "tests/fidelity/training_run.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/safetensors.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/store/checkpoint_reader.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/tools/digest.hpp"
#include "comm/lane.hpp"
#include "job/file/fingerprint.hpp"
#include "job/layout/layout.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/scratch_folder.hpp"
#include "worker/training.hpp"

namespace gangway::fidelity {
namespace {

namespace fs = std::filesystem;

/// What the workers of one stretch tell their coordinator. Thread-safe.
struct Reports {
  std::mutex mutex;  // guards the two below
  std::map<int, messages::CheckpointPart> parts;
  std::map<std::int64_t, StepLosses> losses;
};

/// A coordinator's side that knows its answers beforehand.
class ScriptedLink final : public worker::CoordinatorLink {
 public:
  ScriptedLink(int worker, messages::Begin begin, std::deque<messages::Lease> leases,
               Reports& reports)
      : worker_(worker), begin_(std::move(begin)), leases_(std::move(leases)), reports_(reports) {}

  messages::Welcome join(const messages::Hello&, std::chrono::milliseconds) override { return {}; }
  messages::Begin ask_begin(const messages::Inventory&, std::chrono::milliseconds) override {
    return begin_;
  }
  messages::Begin ask_another(const std::optional<messages::Unloadable>& failure,
                              std::chrono::milliseconds) override {
    throw CheckpointError(failure ? failure->reason : "another worker could not load its state");
  }
  void loading(const messages::Loading&) override {}
  void ready(const messages::Ready&) override {}
  messages::Lease next_lease(std::chrono::milliseconds) override {
    messages::Lease lease = leases_.front();
    leases_.pop_front();
    return lease;
  }
  void report(const messages::Progress& progress) override {
    const std::scoped_lock lock(reports_.mutex);
    for (const messages::MicrobatchLoss& loss : progress.losses) {
      const auto [told, is_first] = reports_.losses[progress.step].emplace(loss.microbatch, loss);
      for (std::size_t i = 0; !is_first && i < loss.by_network.size(); ++i) {
        told->second.by_network[i] += loss.by_network[i];  // where networks are apart
      }
    }
  }
  void checkpoint_part(const messages::CheckpointPart& part) override {
    const std::scoped_lock lock(reports_.mutex);
    reports_.parts[worker_] = part;
  }
  void picture(const messages::Picture&) override {}
  void stop(const messages::Stop&) override {}
  void goodbye(std::chrono::milliseconds) override {}

 private:
  int worker_;
  messages::Begin begin_;
  std::deque<messages::Lease> leases_;
  Reports& reports_;
};

/// One step alone, then the rest: training may not depend on how steps are cut into leases.
std::deque<messages::Lease> leases_of(const Stretch& stretch, const fs::path& checkpoint) {
  return {{.begin = stretch.begin, .end = stretch.begin + 1},
          {.begin = stretch.begin + 1,
           .end = stretch.end,
           .checkpoint_directory = checkpoint.string(),
           .last = true}};
}

messages::Welcome welcome_of(const Stretch& stretch, const fs::path& run_directory) {
  messages::Welcome welcome;
  welcome.run_directory = run_directory.string();
  welcome.layout = resolve_layout(stretch.job, stretch.workers);
  return welcome;
}

checkpoint::Manifest manifest_of(const Stretch& stretch, const Reports& reports) {
  const std::int64_t images = stretch.end * stretch.job.images_per_step();
  checkpoint::Manifest manifest{.step = stretch.end,
                                .images = images,
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

comm::HostMemory memory_of(const std::vector<int>& hosts, int worker, const std::string& run,
                           std::size_t networks) {
  return comm::HostMemory(
      {.members = comm::workers_of(hosts[static_cast<std::size_t>(worker)], hosts),
       .worker = worker,
       .token =
           "test" + std::to_string(getpid()) + "x" + std::to_string(std::hash<std::string>{}(run)),
       .num_flags = networks * comm::kFlagsPerNetwork});
}

void run_worker(const Stretch& stretch, comm::LoopbackHub& hub, const messages::Welcome& welcome,
                ScriptedLink& link, int worker) {
  at::set_num_threads(stretch.job.numerics.threads);
  comm::LoopbackTransport transport(hub, worker);
  const std::vector<int> hosts = hosts_of(stretch);
  std::unique_ptr<worker::ComputeDevice> device;
  std::optional<worker::Replica> replica;
  comm::Lane lane([] {});  // ends first: it listens to the replica's host
  // OpenMP counts threads a thread: the lane's updates would use all cores, and some start-up time.
  lane.wait(lane.submit([] { at::set_num_threads(1); }));
  try {
    worker::Neighbours neighbours{
        .hosts = hosts,
        .memory = memory_of(hosts, worker, welcome.run_directory, stretch.job.networks.size())};
    device = stretch.device ? stretch.device(stretch.job, neighbours, worker)
                            : std::make_unique<worker::CpuDevice>(stretch.job);
    replica.emplace(stretch.job, worker::Placement{worker, welcome.layout, hosts},
                    std::move(neighbours.memory), *device);
    lane.listen_to(&replica->host(), comm::Lane::Core::kShared);
    const worker::Training::Setup setup{
        .job = stretch.job,
        .welcome = welcome,
        .link = link,
        .transport = transport,
        .lane = lane,
        .device = *device,
        .replica = *replica,
        .shared_memory = fs::path(welcome.run_directory) / checkpoint::kSnapshotsFolder};
    worker::Training(setup, worker::Training::begin(setup)).run();
    lane.listen_to(nullptr, comm::Lane::Core::kShared);
    replica.reset();
    device->finish();
  } catch (...) {
    hub.kill(worker);  // the others fail at once instead of at their deadlines
    throw;
  }
}

/// What tells trainings on one worker apart, whatever scratch folder their files lie in
/// (tests/scratch_folder.hpp). A fingerprint knows files by hashes, which nobody has taken here.
std::string key_of(JobSpec job, std::int64_t steps) {
  std::string files;
  const auto forget_folder = [&files](std::string& text) {
    const std::string begin = "gangway-test-";
    if (const std::size_t at = text.find(begin); at != std::string::npos) {
      text.erase(at + begin.size(), text.find('/', at) - at - begin.size());
    }
    files += text + " ";
  };
  forget_folder(job.data.source);
  forget_folder(job.training.style.picture.file);
  for (NetworkSpec& network : job.networks) {
    forget_folder(network.module.file);
  }
  return fmt::format("{} {}{}", job_fingerprint(job), files, steps);
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
  comm::spawn_ranks(stretch.workers, [&](int worker) {
    ScriptedLink link(worker,
                      {.attempt = 1, .step = stretch.begin, .checkpoint = stretch.resume.string()},
                      leases_of(stretch, temporary), reports);
    run_worker(stretch, hub, welcome, link, worker);
  });
  Outcome outcome{
      .checkpoint = checkpoint::commit_checkpoint(temporary, manifest_of(stretch, reports)),
      .losses = reports.losses};
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
  const checkpoint::CheckpointReader reader(checkpoint);
  std::map<std::string, at::Tensor> tensors;
  for (const checkpoint::TensorRecord* record : reader.tensors()) {
    if (record->type == checkpoint::ElementType::kF32) {
      at::Tensor tensor = at::empty(record->shape, at::kFloat);
      std::memcpy(tensor.mutable_data_ptr(), record->bytes.data(), record->bytes.size());
      tensors[record->name] = tensor;
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
