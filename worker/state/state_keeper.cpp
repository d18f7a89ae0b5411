// SPDX-License-Identifier: MIT
#include "worker/state/state_keeper.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/snapshots/snapshot_slot_file.hpp"
#include "job/keys/fingerprint.hpp"
#include "run/control_protocol.hpp"
#include "worker/state/buddies.hpp"
#include "worker/state/state_loader.hpp"

namespace gangway::worker {
namespace {

namespace fs = std::filesystem;

/// One that all workers have, one that some have, one to fill; where snapshots are taken for
/// checkpoints alone, one to write from and one to fill.
int num_slots(const JobSpec& job) { return job.checkpoint.snapshot_steps == 0 ? 2 : 3; }

std::size_t total_bytes(const std::vector<checkpoint::SnapshotPiece>& pieces) {
  std::size_t bytes = 0;
  for (const checkpoint::SnapshotPiece& piece : pieces) {
    bytes += piece.bytes();
  }
  return bytes;
}

}  // namespace

StateKeeper::StateKeeper(Setup setup)
    : setup_(std::move(setup)),
      shelf_{checkpoint::snapshot_folders(setup_.run_directory, setup_.shared_memory),
             checkpoint::snapshot_key(setup_.run_directory, job_fingerprint(setup_.job),
                                      setup_.run_id)} {
  load();
  has_old_ = begin_.snapshot.has_value();
  if (!has_old_) {
    remove_old();  // of another past than the one that begins here
    // Who looks for what to remove holds each file for a moment: nobody makes one yet.
    (void)agree_on_load(0, load_setup());
  }
  reserve();
  if (has_old_) {
    protect_all(begin_.step);  // taken over, where the layout is the same
  }
  const int worker = setup_.transport.worker();
  const int num_workers = setup_.transport.num_workers();
  writer_.emplace(CheckpointWriter::Setup{
      .identity = {.epoch = setup_.transport.epoch(), .worker = worker, .num_workers = num_workers},
      .memory = *memory_,
      .report = [&link = setup_.link](const CheckpointPartInfo& part) {
        link.checkpoint_part(part);
      }});
  taker_.emplace(SnapshotTaker::Setup{.networks = setup_.networks,
                                      .worker = worker,
                                      .num_workers = num_workers,
                                      .incarnation = setup_.incarnation,
                                      .epoch = setup_.transport.epoch(),
                                      .on_end =
                                          [this](std::int64_t step, bool taken) {
                                            writer_->snapshot_ended(step, taken);
                                            if (copies_) {
                                              copies_->snapshot_ended(step, taken);
                                            }
                                          }},
                 *memory_);
  setup_.lane.attach(*taker_);
}

StateKeeper::~StateKeeper() {
  if (taker_) {
    setup_.lane.detach(*taker_);
  }
}

void StateKeeper::reserve() {
  const int worker = setup_.transport.worker();
  const int num_workers = setup_.transport.num_workers();
  const std::vector<int> buddies =
      setup_.job.checkpoint.snapshot_steps == 0 ? std::vector<int>() : buddies_of(setup_.hosts);
  std::vector<checkpoint::SnapshotPiece> pieces =
      snapshot_pieces(setup_.networks, worker, num_workers);
  std::size_t bytes = total_bytes(pieces) * static_cast<std::size_t>(num_slots(setup_.job));
  std::vector<BuddyCopies::Ward> held;
  for (int owner = 0; owner < static_cast<int>(buddies.size()); ++owner) {
    if (buddies[static_cast<std::size_t>(owner)] == worker) {
      held.push_back({owner, snapshot_pieces(setup_.networks, owner, num_workers)});
      bytes += total_bytes(held.back().pieces) * BuddyCopies::kNumSlots;
    }
  }
  const checkpoint::SnapshotFolder folder = checkpoint::choose_snapshot_folder(
      bytes * static_cast<std::size_t>(setup_.workers_on_machine), setup_.shared_memory,
      setup_.run_directory / checkpoint::kSnapshotsFolder);
  if (!folder.reason.empty()) {
    setup_.say("snapshots lie in " + folder.path.string() + ": " + folder.reason);
  }
  const checkpoint::SnapshotPlace place{.folder = folder.path,
                                        .run_directory = setup_.run_directory,
                                        .job_fingerprint = job_fingerprint(setup_.job),
                                        .run_id = setup_.run_id,
                                        .worker = worker,
                                        .num_workers = num_workers};
  memory_.emplace(place, std::move(pieces), num_slots(setup_.job));
  const int buddy = buddies.empty() ? -1 : buddies[static_cast<std::size_t>(worker)];
  if (buddy >= 0) {
    copies_.emplace(BuddyCopies::Setup{.transport = setup_.transport,
                                       .lane = setup_.lane,
                                       .memory = *memory_,
                                       .place = place,
                                       .buddy = buddy,
                                       .wards = std::move(held),
                                       .say = setup_.say,
                                       .timeout = setup_.timeout});
  }
}

StateLoad StateKeeper::load_setup() {
  return {setup_.networks, setup_.transport, setup_.lane, setup_.timeout,
          [this](std::uint64_t bytes, std::uint64_t total) { setup_.link.loading(bytes, total); }};
}

void StateKeeper::load() {
  const StateLoad load = load_setup();
  (void)agree_on_load(0, load);  // all have put their initial values into memory that they share
  begin_ = setup_.link.ask_begin(found_parts(shelf_), kStartDeadline);
  while (!begin_.is_new()) {
    const LoadOutcome outcome = begin_.snapshot ? load_snapshot(shelf_, begin_, load)
                                                : load_checkpoint(begin_.checkpoint, load);
    const std::vector<std::uint64_t> words = agree_on_load(outcome.is_whole ? 1 : 0, load);
    if (std::ranges::find(words, 0U) == words.end()) {
      share_weights(load);
      return;
    }
    begin_ = setup_.link.ask_another(outcome.failure, kStartDeadline);
  }
  if (begin_.attempt > 1) {  // something was loaded in part
    for (NetworkState* network : setup_.networks) {
      network->begin_anew(setup_.job.training.seed);
    }
    (void)agree_on_load(0, load);
  }
  load_initial();
}

void StateKeeper::load_initial() const {
  const std::array<const NetworkSpec*, 2> specs{&setup_.job.generator, &setup_.job.discriminator};
  for (std::size_t i = 0; i < setup_.networks.size(); ++i) {
    if (!specs.at(i)->weights.empty()) {
      load_initial_weights(setup_.networks[i]->network().name() + ".weights", specs.at(i)->weights,
                           *setup_.networks[i]);
    }
  }
}

void StateKeeper::write_behind(std::int64_t step, const std::string& directory) {
  writer_->want(step, directory);
}

void StateKeeper::take_now(std::int64_t step, std::chrono::steady_clock::time_point since) {
  setup_.lane.wait(setup_.lane.submit([this, step, since] { taker_->copy_all(step, since); }));
}

void StateKeeper::copy_behind(std::int64_t step) {
  if (copies_) {
    copies_->want(step);
  }
}

void StateKeeper::keep_on_disk(const std::function<void()>& progress) const noexcept {
  try {
    (void)checkpoint::copy_snapshots({.shared_memory = setup_.shared_memory,
                                      .folder = setup_.run_directory / checkpoint::kSnapshotsFolder,
                                      .key = shelf_.key,
                                      .from_step = protected_.load(),
                                      .begin_with = setup_.transport.worker(),
                                      .progress = progress});
  } catch (const std::exception& error) {
    setup_.say(error.what());  // others may have what is needed, or a checkpoint
  }
}

void StateKeeper::protect_all(std::int64_t step) {
  protected_ = step;
  memory_->protect(step);
  if (copies_) {
    copies_->protect(step);
  }
}

void StateKeeper::protect(std::int64_t step) {
  if (step < 0) {
    return;
  }
  protect_all(step);
  if (std::exchange(has_old_, false)) {
    remove_old();
  }
}

void StateKeeper::remove_old() const {
  (void)checkpoint::remove_snapshots(shelf_.folders, shelf_.key);
}

void StateKeeper::finish_taking() {
  setup_.lane.wait(setup_.lane.submit([this] { taker_->copy_rest(); }));
}

void StateKeeper::finish_writing() {
  finish_taking();
  const std::chrono::milliseconds patience = kTimeoutsToWrite * setup_.timeout;
  if (!writer_->wait_idle(patience)) {
    throw EnvironmentError(fmt::format(
        "the disk of {} has taken nothing of a checkpoint for {:.0f} s: look at it, then start the "
        "same command again",
        setup_.run_directory.string(), std::chrono::duration<double>(patience).count()));
  }
}

void StateKeeper::finish_copying() {
  if (copies_) {
    finish_taking();
    copies_->finish();
  }
}

}  // namespace gangway::worker
