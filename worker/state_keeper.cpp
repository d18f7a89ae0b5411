// SPDX-License-Identifier: MIT
#include "worker/state_keeper.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/snapshot_files.hpp"
#include "comm/exchange_words.hpp"
#include "job/control_protocol.hpp"
#include "job/errors.hpp"
#include "job/fingerprint.hpp"
#include "worker/state_loader.hpp"
#include "worker/state_source.hpp"

namespace gangway::worker {
namespace {

namespace fs = std::filesystem;

/// One that all workers have, one that some have, one to fill; where snapshots are taken for
/// checkpoints alone, one to write from and one to fill.
int num_slots(const JobSpec& job) { return job.checkpoint.snapshot_steps == 0 ? 2 : 3; }

}  // namespace

StateKeeper::StateKeeper(Setup setup) : setup_(std::move(setup)) {
  load();
  const int worker = setup_.transport.worker();
  const int num_workers = setup_.transport.num_workers();
  const fs::path run = setup_.welcome.run_directory;
  std::vector<checkpoint::SnapshotPiece> pieces =
      snapshot_pieces(setup_.networks, worker, num_workers);
  std::size_t bytes = 0;
  for (const checkpoint::SnapshotPiece& piece : pieces) {
    bytes += piece.bytes();
  }
  const checkpoint::SnapshotFolder folder = checkpoint::choose_snapshot_folder(
      bytes * static_cast<std::size_t>(num_slots(setup_.job) * setup_.workers_on_machine),
      setup_.shared_memory, run / checkpoint::kSnapshotsFolder);
  if (!folder.reason.empty() && setup_.say) {
    setup_.say("snapshots lie in " + folder.path.string() + ": " + folder.reason);
  }
  if (!setup_.welcome.resume_snapshot) {
    remove_old();  // of another past than the one that begins here
    // Who looks for what to remove holds each file for a moment: nobody makes one yet.
    setup_.lane.wait(setup_.lane.submit([this] {
      (void)comm::exchange_words(setup_.transport, 0, "the removal of old snapshots",
                                 setup_.timeout);
    }));
  }
  memory_.emplace(checkpoint::SnapshotPlace{.folder = folder.path,
                                            .run_directory = run,
                                            .job_fingerprint = job_fingerprint(setup_.job),
                                            .worker = worker,
                                            .num_workers = num_workers},
                  std::move(pieces), num_slots(setup_.job));
  if (setup_.welcome.resume_snapshot) {
    memory_->protect(setup_.welcome.start_step);  // taken over, where the layout is the same
  }
  writer_.emplace(CheckpointWriter::Setup{
      .identity = {.epoch = setup_.transport.epoch(), .worker = worker, .num_workers = num_workers},
      .memory = *memory_,
      .report = setup_.report});
  taker_.emplace(
      SnapshotTaker::Setup{.networks = setup_.networks,
                           .worker = worker,
                           .num_workers = num_workers,
                           .epoch = setup_.transport.epoch(),
                           .on_end = [this](std::int64_t step,
                                            bool taken) { writer_->snapshot_ended(step, taken); }},
      *memory_);
}

void StateKeeper::load() {
  const WelcomeInfo& welcome = setup_.welcome;
  const StateLoad load{setup_.networks, setup_.transport, setup_.lane, setup_.timeout};
  if (welcome.resume_snapshot) {
    const fs::path run = welcome.run_directory;
    auto snapshot = checkpoint::newest_complete(
        checkpoint::snapshot_folders(run), checkpoint::snapshot_key(run, job_fingerprint(setup_.job)),
        setup_.say ? setup_.say : [](const std::string&) {});
    if (!snapshot || snapshot->moment.step != welcome.start_step) {
      throw CheckpointError(
          fmt::format("the snapshot of step {} is gone from this host's memory: the same command "
                      "goes on from the last checkpoint",
                      welcome.start_step));
    }
    has_old_layout_ = snapshot->num_workers != setup_.transport.num_workers();
    SnapshotSource source(std::move(*snapshot));
    load_state(source, load);
  } else if (!welcome.resume_directory.empty()) {
    CheckpointSource source(welcome.resume_directory);
    load_state(source, load);
  } else {
    const std::array<const NetworkSpec*, 2> specs{&setup_.job.generator, &setup_.job.discriminator};
    for (std::size_t i = 0; i < setup_.networks.size(); ++i) {
      if (!specs.at(i)->weights.empty()) {
        load_initial_weights(setup_.networks[i]->network().name() + ".weights", specs.at(i)->weights,
                             *setup_.networks[i], load);
      }
    }
  }
}

void StateKeeper::write_behind(std::int64_t step, const std::string& directory) {
  writer_->want(step, directory);
}

void StateKeeper::take_now(std::int64_t step) {
  setup_.lane.wait(setup_.lane.submit([this, step] { taker_->copy_all(step); }));
}

void StateKeeper::protect(std::int64_t step) {
  if (step < 0) {
    return;
  }
  memory_->protect(step);
  if (std::exchange(has_old_layout_, false)) {
    remove_old();
  }
}

void StateKeeper::remove_old() const {
  const fs::path run = setup_.welcome.run_directory;
  (void)checkpoint::remove_snapshots(checkpoint::snapshot_folders(run),
                                     checkpoint::snapshot_key(run, job_fingerprint(setup_.job)));
}

void StateKeeper::finish_writing() {
  const std::chrono::milliseconds patience = kTimeoutsToWrite * setup_.timeout;
  if (!writer_->wait_idle(patience)) {
    throw EnvironmentError(fmt::format(
        "the disk of {} has taken nothing of a checkpoint for {:.0f} s: look at it, then start the "
        "same command again",
        setup_.welcome.run_directory, std::chrono::duration<double>(patience).count()));
  }
}

}  // namespace gangway::worker
