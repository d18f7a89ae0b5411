// SPDX-License-Identifier: MIT
#include "worker/state/begin_state.hpp"

#include <algorithm>
#include <limits>

#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "job/models/narrowing.hpp"
#include "run/control_protocol.hpp"
#include "worker/state/load_from_checkpoint.hpp"

namespace gangway::worker {
namespace {

/// Begins the generator, and its average, with the teacher's largest channels.
void prune_teacher(const StateSetup& setup) {
  const NetworkId teacher = setup.job.id_of("teacher");
  const NetworkId generator = setup.job.shown_network();
  const auto state = [&setup](NetworkId id) -> NetworkState& {
    return *setup.networks[static_cast<std::size_t>(id)];
  };
  const auto name_in_network = [](const NetworkState::TensorPlace& place) {
    return place.name.substr(place.name.find('/') + 1);
  };
  const at::NoGradGuard no_grad;
  NetworkValues wide;
  for (const NetworkState::TensorPlace& place : state(teacher).places()) {
    const at::Tensor tensor =
        NetworkState::view(state(teacher).weights().data(), place).contiguous();
    const auto* const first = tensor.const_data_ptr<float>();
    wide[name_in_network(place)] = {.shape = place.sizes,
                                    .values = {first, first + tensor.numel()}};
  }
  const PerNetwork<Architecture> architectures = setup.job.architectures();
  NetworkValues narrow = narrowed(architectures[teacher], architectures[generator], wide);
  for (const NetworkState::TensorPlace& place : state(generator).places()) {
    const at::Tensor tensor =
        at::from_blob(narrow.at(name_in_network(place)).values.data(), place.sizes);
    NetworkState::view(state(generator).weights().data(), place).copy_(tensor);
    if (comm::Arena* average = state(generator).average()) {
      NetworkState::view(average->data(), place).copy_(tensor);
    }
  }
  state(generator).store();
}

void load_initial(const StateSetup& setup) {
  for (const NetworkId network : setup.job.networks.ids()) {
    const NetworkSpec& spec = setup.job.networks[network];
    if (!spec.weights.empty()) {
      load_initial_weights(spec.name + ".weights", spec.weights,
                           *setup.networks[static_cast<std::size_t>(network)]);
    }
  }
  if (setup.job.training.distill.prunes) {
    prune_teacher(setup);
  }
}

/// @return the state that all workers have loaded.
messages::Begin load(const StateSetup& setup, const StateLoad& load, const SnapshotStore& store) {
  (void)agree_on_load(0, load);  // all have written initial values to shared memory
  messages::Begin begin = setup.link.ask_begin(found_parts(store), kStartDeadline);
  while (!begin.is_new()) {
    LoadOutcome outcome = begin.snapshot ? load_snapshot(store, begin, load)
                                         : load_checkpoint(begin.checkpoint, load);
    const std::vector<std::uint64_t> words = agree_on_load(outcome.is_whole ? 1 : 0, load);
    if (std::ranges::find(words, 0U) == words.end()) {
      share_weights(load);
      return begin;
    }
    if (outcome.failure) {
      outcome.failure->attempt = begin.attempt;
    }
    begin = setup.link.ask_another(outcome.failure, kStartDeadline);
  }
  if (begin.attempt > 1) {  // a part of a state was loaded
    for (NetworkState* network : setup.networks) {
      network->begin_anew(setup.job.training.seed);
    }
    (void)agree_on_load(0, load);
  }
  load_initial(setup);
  return begin;
}

}  // namespace

BegunState begin_state(const StateSetup& setup) {
  const StateLoad state_load{setup.networks, setup.transport, setup.lane, setup.timeout,
                             [&](std::uint64_t bytes, std::uint64_t total) {
                               setup.link.send(messages::Loading{.bytes = bytes, .total = total});
                             }};
  BegunState begun{.begin = {},
                   .store = {checkpoint::snapshot_folders(setup.run_directory, setup.shared_memory),
                             checkpoint::snapshot_key(setup.run_directory, setup.job_fingerprint,
                                                      setup.run_id)}};
  begun.begin = load(setup, state_load, begun.store);
  const messages::Begin& begin = begun.begin;
  if (begin.keeps_newer) {
    begun.step_aside =
        checkpoint::set_newer_aside(begun.store.folders, begun.store.key, begin.step);
    (void)agree_on_load(0, state_load);  // all workers see the same names from here on
  }
  if (!begin.snapshot) {
    (void)checkpoint::remove_snapshots(
        begun.store.folders, begun.store.key,
        begin.keeps_newer ? begin.step : std::numeric_limits<std::int64_t>::max());
    // A second barrier: a worker that searches for old files holds each one briefly, so new ones
    // must not be made yet.
    (void)agree_on_load(0, state_load);
  }
  return begun;
}

}  // namespace gangway::worker
