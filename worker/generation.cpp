// SPDX-License-Identifier: MIT
#include "worker/generation.hpp"

#include <string>
#include <utility>

#include "base/system/usable_cores.hpp"
#include "worker/arithmetic/trial_microbatch.hpp"

namespace gangway::worker {
namespace {

constexpr int kLaneThreads = 1;

}  // namespace

messages::Ready Generation::begin(Neighbours neighbours) {
  const int worker = setup_.transport.worker();
  device_ = setup_.make(setup_.job, setup_.welcome.layout, neighbours, worker);
  // Before the replica exists, so that the trial's networks free their memory first.
  const std::string bits = trial_bits(setup_.job, *device_);
  Replica& replica = replica_.emplace(setup_.job,
                                      Placement{.worker = worker,
                                                .layout = setup_.welcome.layout,
                                                .hosts = neighbours.hosts,
                                                .machines = neighbours.machines},
                                      std::move(neighbours.memory), *device_);
  setup_.lane.listen_to(replica.host(), neighbours.core);
  if (job_.data.threads == 0) {
    job_.data.threads =
        reading_threads(neighbours.workers_on_machine, job_.numerics.threads + kLaneThreads);
  }
  const TrainingSetup training{.job = job_,
                               .options = setup_.options,
                               .welcome = setup_.welcome,
                               .link = setup_.link,
                               .transport = setup_.transport,
                               .lane = setup_.lane,
                               .device = *device_,
                               .replica = replica,
                               .on_stall = setup_.on_stall,
                               .workers_on_machine = neighbours.workers_on_machine,
                               .shared_memory = setup_.shared_memory,
                               .index_folder = setup_.index_folder,
                               .control_groups = setup_.control_groups};
  begun_ = Training::begin(training);
  messages::Ready ready = training_.emplace(training, *begun_).describe();
  ready.arithmetic.bits = bits;
  return ready;
}

void Generation::end() {
  training_.reset();
  setup_.lane.stop_listening();
  replica_.reset();
  device_->finish();
}

Generation::~Generation() {
  training_.reset();
  setup_.lane.stop_listening();
}

}  // namespace gangway::worker
