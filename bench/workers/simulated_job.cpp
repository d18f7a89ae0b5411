// SPDX-License-Identifier: MIT
#include "bench/workers/simulated_job.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/layout/layout.hpp"
#include "run/messages/codec.hpp"

namespace gangway::bench {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::int64_t kSnapshotStep = 8;
constexpr std::chrono::microseconds kStep{500'000};
constexpr std::size_t kBuckets = 30;
constexpr double kUnixSeconds = 1.0;

JobSpec simulated_spec(int workers) {
  JobSpec job;
  job.training.microbatches = workers;
  return job;
}

coordinator::RunCoreSettings simulated_settings(int workers, std::int64_t total_steps) {
  coordinator::RunCoreSettings settings;
  settings.num_workers = workers;
  settings.job = settings.steered_job = simulated_spec(workers);
  settings.welcome.job_yaml = std::string(4000, 'x');  // about the size of a resolved job
  settings.welcome.run_directory = "/runs/00000";
  settings.welcome.layout = resolve_layout(settings.job, workers);
  settings.welcome.lifeline = {.hosts = "10.0.0.1", .port = 40000, .token = std::string(64, 'a')};
  settings.leases = {.total_steps = total_steps, .tick_steps = 10, .checkpoint_steps = {}};
  settings.watched = {{.name = "generator"}, {.name = "discriminator", .judges = true}};
  settings.ticks = {.num_workers = workers,
                    .microbatches = workers,
                    .networks = {"generator", "discriminator"},
                    .images_per_step = workers,
                    .total_steps = total_steps,
                    .tick_steps = 10};
  return settings;
}

messages::Hello hello_of(int rank, int host) {
  return {.rank = Rank(rank),
          .host = fmt::format("node-{}", host),
          .process = {.boot_id = "0f0e0d0c-0b0a-0908-0706-050403020100",
                      .pid_namespace = "4026531836",
                      .pid = 1000 + rank,
                      .start_ticks = 77},
          .shared_memory = static_cast<std::uint64_t>(host),
          .device = "NVIDIA H100 80GB HBM3"};
}

messages::Progress progress_of(int rank, std::int64_t step, std::int64_t snapshot) {
  const std::vector<double> waited(kBuckets, 0.001);
  return {.step = step,
          .losses = {{.microbatch = rank - 1, .by_network = {1.0, 1.5}}},
          .figures = {.exposed_seconds = 0.02, .parts = {0.08, 0.01}},
          .exposures = {{.phase = 0, .name = "discriminator", .seconds = 0.01, .by_bucket = waited},
                        {.phase = 1, .name = "generator", .seconds = 0.01, .by_bucket = waited}},
          .memory = {.resident_bytes = 1 << 30},
          .sent_bytes = 1 << 20,
          .snapshot = snapshot,
          .snapshot_seconds = 0.01,
          .snapshot_bytes = 1 << 20,
          .gauges = messages::DeviceGauges{.busy = 0.9, .used_bytes = 1 << 30}};
}

}  // namespace

SimulatedJob::SimulatedJob(int workers, std::int64_t total_steps)
    : workers_(workers),
      core_(
          std::make_unique<coordinator::RunCore>(simulated_settings(workers, total_steps), now_)) {}

SimulatedJob::~SimulatedJob() = default;

template <typename Decide>
double SimulatedJob::decide(const std::string& what, const Decide& decide) {
  const auto begin = std::chrono::steady_clock::now();
  decide();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  decisions_[what].push_back(taken.count());
  return taken.count();
}

void SimulatedJob::say(int rank, const messages::Message& message) {
  const std::string name(messages::name_of(message));
  const std::string bytes = messages::encode({.epoch = 1, .message = message});
  Traffic& traffic = from_workers_[name];
  traffic.messages += 1;
  traffic.bytes += bytes.size();
  decide(name, [&] {
    follow(core_->on_message(Rank(rank), messages::decode(bytes, Rank(rank)), now_, kUnixSeconds));
  });
}

void SimulatedJob::pass(microseconds time) {
  now_ += time;
  decide("clock", [&] { follow(core_->on_clock(now_)); });
}

void SimulatedJob::send(const messages::Message& message, std::size_t receivers) {
  Traffic& traffic = to_workers_[std::string(messages::name_of(message))];
  traffic.messages += receivers;
  traffic.bytes += receivers * messages::encode({.epoch = 1, .message = message}).size();
  traffic.encodings += 1;
}

void SimulatedJob::follow(const coordinator::Effects& effects) {
  for (const coordinator::Effect& effect : effects) {
    std::visit(
        [this](const auto& one) {
          using Kind = std::remove_cvref_t<decltype(one)>;
          if constexpr (std::is_same_v<Kind, coordinator::SendMessage>) {
            send(one.message, one.ranks.size());
          } else if constexpr (std::is_same_v<Kind, coordinator::GrantLease>) {
            granted_ = one.lease.end;
            snapshots_.insert(snapshots_.end(), one.lease.snapshots.begin(),
                              one.lease.snapshots.end());
            saving_ = one.checkpoint_step ? one.checkpoint_step : saving_;
            send(one.lease, static_cast<std::size_t>(workers_));
          } else if constexpr (std::is_same_v<Kind, coordinator::ChooseResumePoint>) {
            point_ = {.step = kSnapshotStep, .snapshot = one.inventory.newest_after(0)};
          } else if constexpr (std::is_same_v<Kind, coordinator::CommitCheckpoint>) {
            to_commit_ = one.checkpoint.step;
          } else if constexpr (std::is_same_v<Kind, coordinator::EndJob>) {
            end_ = one.end;
          }
        },
        effect);
  }
}

void SimulatedJob::start() {
  const int hosts = (workers_ + kWorkersPerHost - 1) / kWorkersPerHost;
  for (int rank = 1; rank <= workers_; ++rank) {
    say(rank, hello_of(rank, (rank - 1) / kWorkersPerHost));
    decide("lifeline", [&] { follow(core_->on_lifeline_opened(Rank(rank), now_)); });
    pass(milliseconds(1));
  }
  const SnapshotId id{.step = kSnapshotStep, .incarnation = 1, .epoch = 1, .num_workers = workers_};
  for (int rank = 1; rank <= workers_; ++rank) {
    const int host = (rank - 1) / kWorkersPerHost;
    messages::Inventory inventory;
    for (const int of : {(host + hosts - 1) % hosts, host}) {
      for (int part = of * kWorkersPerHost; part < std::min(workers_, (of + 1) * kWorkersPerHost);
           ++part) {
        inventory.parts.push_back({.of = id, .worker = part});
      }
    }
    say(rank, inventory);
  }
  if (!point_) {
    throw InvariantError("nobody was asked for the state to begin with");
  }
  decide("begin", [&] { follow(core_->begin_with(*point_)); });
  step_ = kSnapshotStep;
  for (int rank = 1; rank <= workers_; ++rank) {
    say(rank, messages::Ready{.plan_hash = 7,
                              .plan_summary = "2 networks",
                              .parameters = {1, 1},
                              .data_fingerprint = "data",
                              .arithmetic = {.bits = std::string(32, '0'),
                                             .facts = {{"instructions", "AVX512"}}}});
    pass(milliseconds(1));
  }
}

void SimulatedJob::do_step(int rank, std::int64_t step) {
  const auto next = std::ranges::upper_bound(snapshots_, step);
  say(rank, progress_of(rank, step, next == snapshots_.begin() ? 0 : *std::prev(next)));
  if (saving_ == step) {
    say(rank, messages::CheckpointPart{.step = step,
                                       .file = fmt::format("worker-{:04}.safetensors", rank - 1),
                                       .bytes = 1 << 20,
                                       .xxh3_128 = std::string(32, '0'),
                                       .seconds = 0.5});
  }
}

void SimulatedJob::train(int steps) {
  // The fastest workers are over a step ahead of the slowest; the order changes every step.
  std::vector<std::tuple<double, int, std::int64_t>> coming;
  std::uniform_real_distribution<double> late(0.0, 0.3);
  for (std::int64_t step = step_ + 1; step <= step_ + steps; ++step) {
    for (int rank = 1; rank <= workers_; ++rank) {
      const double own = 0.8 * static_cast<double>(rank) / workers_;
      coming.emplace_back(static_cast<double>(step) + own + late(random_), rank, step);
    }
  }
  std::ranges::sort(coming);
  for (const auto& [when, rank, step] : coming) {
    if (step > granted_) {
      throw InvariantError(fmt::format("rank {} would wait for a lease of step {}", rank, step));
    }
    do_step(rank, step);
    decide("heartbeat", [&, worker = Rank(rank)] {
      core_->on_heartbeat(worker, coordinator::Pulse::kWaits, now_);
    });
    pass(kStep / workers_);
  }
  step_ += steps;
}

void SimulatedJob::save() {
  decide("request",
         [&] { follow(core_->on_request(coordinator::Request::kSaveAndGoOn, 0, now_)); });
  if (!saving_) {
    throw InvariantError("nothing is saved");
  }
  while (step_ < *saving_) {
    train(1);
  }
  for (int rank = 1; saving_ == step_ && !to_commit_ && rank <= workers_; ++rank) {
    say(rank, messages::CheckpointPart{.step = step_,
                                       .file = fmt::format("worker-{:04}.safetensors", rank - 1),
                                       .xxh3_128 = std::string(32, '0')});
  }
  decide("committed", [&] { follow(core_->checkpoint_committed(to_commit_.value(), now_)); });
  saving_.reset();
  to_commit_.reset();
}

double SimulatedJob::lose(int rank) {
  double taken = decide("lifeline", [&] { core_->on_lifeline_closed(Rank(rank), now_); });
  while (!end_) {
    now_ += milliseconds(5);
    taken += decide("clock", [&] { follow(core_->on_clock(now_)); });
  }
  return taken;
}

double SimulatedJob::complain(int silent) {
  const auto begin = std::chrono::steady_clock::now();
  for (int rank = 1; rank <= workers_; ++rank) {
    if (rank != silent) {
      say(rank, messages::Stop{.exit_code = static_cast<int>(ExitCode::kWorkerLost),
                               .reason = "a peer is silent",
                               .accused = Rank(rank % workers_ + 1)});
      pass(microseconds(100));
    }
  }
  while (!end_) {
    pass(milliseconds(5));
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double SimulatedJob::tell_status() {
  return decide("status", [&] { (void)core_->status(now_, kUnixSeconds); });
}

}  // namespace gangway::bench
