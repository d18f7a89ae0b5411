// SPDX-License-Identifier: MIT
#include "worker/training.hpp"

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include "base/errors.hpp"
#include "data/open_dataset.hpp"
#include "gan/recipes/recipes.hpp"
#include "job/estimate/device_estimate.hpp"
#include "pipeline/cut_phases.hpp"
#include "pipeline/lists/list_checks.hpp"
#include "pipeline/lists/list_text.hpp"
#include "pipeline/microbatches_with_reals.hpp"
#include "run/control_protocol.hpp"

namespace gangway::worker {
namespace {

std::chrono::milliseconds timeout_of(const TrainingSetup& setup) {
  const double seconds = setup.welcome.layout.timeout_seconds;
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

StepTraceSetup trace_setup(const TrainingSetup& setup, const std::vector<pipeline::Phase>& phases) {
  return {.steps = setup.welcome.trace,
          .run_directory = setup.welcome.run_directory,
          .transport = setup.transport,
          .lane = setup.lane,
          .hosts = setup.replica.placement().hosts,
          .timeout = timeout_of(setup),
          .phases = phases,
          .networks = setup.job.network_names()};
}

StateSetup state_setup(const TrainingSetup& setup, comm::Transport& transport) {
  return {.job = setup.job,
          .options = setup.options,
          .job_fingerprint = setup.welcome.fingerprint,
          .run_directory = setup.welcome.run_directory,
          .link = setup.link,
          .networks = setup.replica.stored(),
          .transport = transport,
          .lane = setup.lane,
          .workers_on_machine = setup.workers_on_machine,
          .hosts = setup.replica.placement().hosts,
          .shared_memory = setup.shared_memory,
          .say =
              [say = setup.on_stall](const std::string& line) {
                if (say) {
                  say(line);
                }
              },
          .timeout = timeout_of(setup),
          .run_id = setup.welcome.run_id,
          .incarnation = setup.welcome.incarnation};
}

/// Returns the snapshot watchers; none on a device, where updates are not copied one by one.
PerNetwork<UpdateWatcher*> watchers_of(const PerNetwork<NetworkState*>& networks,
                                       const ComputeDevice& device, SnapshotTaker& taker) {
  if (device.lags_behind()) {
    return {};
  }
  PerNetwork<UpdateWatcher*> watchers;
  for (const NetworkId network : networks.ids()) {
    watchers.add(&taker.watcher(network));
  }
  return watchers;
}

/// Returns the micro-batches whose real examples this worker uses, in the order of use.
std::vector<int> real_batches_of(const pipeline::PassShares& shares,
                                 pipeline::StepSchedules& schedules) {
  if (shares.are_apart()) {
    return pipeline::microbatches_with_reals(shares, schedules.of(0));
  }
  const MicrobatchRange local = shares.local();
  const auto all = std::views::iota(local.begin, local.end);
  return {all.begin(), all.end()};
}

std::unique_ptr<RemoteTensors> remote_of(const pipeline::PassShares& shares,
                                         const ExchangeSetup& exchange, ComputeDevice& device,
                                         std::optional<comm::HostStreams>& streams,
                                         Replica& replica) {
  if (!shares.are_apart()) {
    return nullptr;
  }
  streams.emplace(replica.streams(), replica.host());
  const comm::TensorChannelSetup channel{
      .timeout = exchange.timeout, .on_stall = exchange.on_stall, .streams = &*streams};
  const CarrierSetup carrier{.transport = exchange.transport,
                             .lane = exchange.lane,
                             .channel = channel,
                             .edges = shares.edges()};
  return std::make_unique<RemoteTensors>(shares, device.make_carrier(carrier));
}

data::ContentsCheck contents_check(const TrainingSetup& setup) {
  const bool compares = setup.welcome.layout.mixed_processors == MixedProcessors::kRefuse;
  return {.index_folder = setup.index_folder,
          .run_folder = compares ? setup.welcome.run_directory : std::string(),
          .progress = [&link = setup.link](std::uint64_t bytes, std::uint64_t total) {
            link.send(messages::Loading{.bytes = bytes,
                                        .total = total});  // the coordinator extends the deadline
          }};
}

}  // namespace

BegunState Training::begin(const TrainingSetup& setup) {
  return begin_state(state_setup(setup, setup.transport));
}

Training::Training(const TrainingSetup& setup, const BegunState& begun)
    : setup_(setup),
      first_step_(begun.begin.step),
      phases_(pipeline::cut_phases(gan::phases_of(setup.job, TORCH_VERSION),
                                   pipeline::cuts_of(setup.job, setup.replica.placement().layout))),
      shares_(phases_, setup.replica.placement().layout, setup.replica.placement().worker),
      schedules_(shares_),
      local_(shares_.local()),
      changes_(setup.welcome.changes),
      trace_(trace_setup(setup, phases_)),
      clock_(setup.job.networks.size()),
      transport_(trace_.transport()),
      memory_(setup_.device, {.groups = setup.control_groups}),
      contents_(contents_check(setup)),
      dataset_(
          data::open_dataset(setup.job.data, setup.job.model, setup.job.training.seed, &contents_)),
      snapshots_(state_setup(setup, transport_), begun),
      groups_({.transport = transport_,
               .lane = setup.lane,
               .host = setup.replica.host(),
               .ranges = setup.replica.placement().layout.shared_ranges(),
               .hosts = setup.replica.placement().hosts,
               .machines = setup.replica.placement().machines,
               .num_microbatches = setup.job.training.microbatches,
               .timeout = timeout_of(setup),
               .on_stall = setup.on_stall,
               .trace = &trace_.lane()},
              shares_.layout()),
      exchange_(groups_.all()),
      reals_(setup_.job, *dataset_, real_batches_of(shares_, schedules_), first_step_,
             &trace_.compute(),
             [this](const StagingSetup& staging) { return setup_.device.make_staging(staging); }),
      remote_(remote_of(shares_, exchange_, setup_.device, streams_, setup.replica)),
      operations_(
          {.job = setup_.job,
           .options = setup_.options,
           .execution = shares_.layout(),
           .phases = phases_,
           .networks = setup_.replica.networks(),
           .reals = reals_,
           .exchange = exchange_,
           .exchanges = setup_.device.connect(setup_.replica.networks(), exchange_),
           .watchers = watchers_of(setup_.replica.networks(), setup_.device, snapshots_.taker()),
           .device = setup_.device.device(),
           .local = local_,
           .pools = setup_.replica.pools(),
           .changes = &changes_,
           .shares = remote_ ? &shares_ : nullptr,
           .remote = remote_.get()}),
      graphs_(make_graphs()),
      traced_operations_(performer(), setup.job.network_names(), &trace_.compute()),
      pictures_(
          {.job = setup_.job,
           .grid = setup_.options.output.grid,
           .dataset = *dataset_,
           .network = setup_.job.shown_network(),
           .states = setup_.replica.networks(),
           .own_step = setup_.job.training.own.shows ? operations_.pass().own_step() : nullptr,
           .drawer = shares_.layout()[setup_.job.shown_network()].workers.front(),
           .transport = transport_,
           .lane = setup.lane,
           .run_directory = setup.welcome.run_directory,
           .timeout = exchange_.timeout}) {
  if (shares_.are_apart() && shares_.worker() == 0) {
    pipeline::require_sound_lists(phases_, shares_.layout(), setup_.job.network_names());
  }
  if (ImagePools* pools = setup_.replica.pools()) {
    pools->take_up();
  }
}

std::unique_ptr<StepGraphs> Training::make_graphs() {
  if (shares_.layout().cuda_graph == GraphChoice::kOff) {
    return nullptr;
  }
  std::unique_ptr<GraphRecorder> recorder = setup_.device.make_recorder();
  if (!recorder) {
    return nullptr;
  }
  const std::string why_not = why_not_recorded(setup_.job, shares_.layout());
  if (why_not.empty()) {
    return std::make_unique<StepGraphs>(StepGraphsSetup{.recorder = std::move(recorder),
                                                        .operations = operations_,
                                                        .reals = reals_,
                                                        .job = setup_.job,
                                                        .execution = shares_.layout(),
                                                        .local = local_,
                                                        .say = exchange_.on_stall});
  }
  if (shares_.layout().cuda_graph != GraphChoice::kAuto && exchange_.on_stall) {
    exchange_.on_stall(
        fmt::format("numerics.cuda_graph: requested, but steps are not recorded: {}", why_not));
  }
  return nullptr;
}

messages::Ready Training::describe() const {
  messages::Ready info;
  std::vector<std::string> buckets;
  for (const NetworkState* network : setup_.replica.networks()) {
    info.parameters.push_back(network->num_parameters());
    buckets.push_back(std::to_string(network->plan().num_buckets()));
  }
  info.plan_hash = setup_.replica.plan_hash();
  info.plan_summary = fmt::format("reduced in {} buckets", fmt::join(buckets, " and "));
  if (remote_ && setup_.device.lags_behind()) {  // a CPU has only one way
    info.plan_summary += fmt::format("; tensors of passes go {}", remote_->way());
  }
  info.data_fingerprint = dataset_->fingerprint();
  info.data = contents_.found;
  info.data.earlier_fingerprint = dataset_->earlier_fingerprint();
  info.libtorch = TORCH_VERSION;
  info.has_buddies = snapshots_.copies() != nullptr;
  return info;
}

void Training::run() {
  messages::Lease lease = setup_.link.next_lease(kFirstLeaseDeadline);
  reported_bytes_ = bytes_sent();  // bytes sent earlier belong to no step
  clock_.begin();
  device_clock_.emplace(setup_.device.make_marks(), setup_.job.networks.size(),
                        setup_.job.steps_of_kimg(setup_.options.output.tick_kimg));
  // Not earlier: the first lease means that all workers are ready, and all help with the picture.
  if (first_step_ == 0) {
    write_pictures(0);
  }
  while (true) {
    run_lease(lease);
    if (lease.last) {
      operations_.settle();
      snapshots_.finish_writing();
      snapshots_.finish_copying();
      if (trace_.is_on()) {
        end_trace();
      }
      return;
    }
    const PartScope part = in_part(messages::StepPart::kCoordinator);
    lease = setup_.link.next_lease(kLeaseDeadline);
  }
}

void Training::run_lease(const messages::Lease& lease) {
  if (lease.protected_snapshot) {
    snapshots_.protect(*lease.protected_snapshot);
  }
  changes_.insert(changes_.end(), lease.changes.begin(), lease.changes.end());
  if (!lease.trace.empty()) {
    trace_.set_steps(lease.trace);
  }
  const bool saves = !lease.checkpoint_directory.empty();
  // The last snapshot is taken after all steps, when waiting for room delays no training.
  const bool saves_on_its_way = saves && !lease.last && lease.begin < lease.end;
  if (saves_on_its_way) {
    snapshots_.write_behind(lease.end, lease.checkpoint_directory);
  }
  for (const std::int64_t step : lease.snapshots) {
    snapshots_.copy_behind(step);
  }
  for (std::int64_t step = lease.begin; step < lease.end; ++step) {
    run_step(step, (saves_on_its_way && step + 1 == lease.end) ||
                       std::ranges::find(lease.snapshots, step + 1) != lease.snapshots.end());
  }
  send_report();
  if (saves && !saves_on_its_way) {
    save_now(lease);
  }
  if (lease.pictures) {
    operations_.settle();
    write_pictures(lease.end);
  }
}

void Training::save_now(const messages::Lease& lease) {
  const PartScope part = in_part(messages::StepPart::kCheckpoints);
  if (lease.last) {
    operations_.settle();
    snapshots_.finish_writing();  // with a slow disk there may be no room yet
  }
  snapshots_.write_behind(lease.end, lease.checkpoint_directory);
  take_snapshot_now(lease.end);
  snapshots_.taker().require_finite_before(lease.end + 1);
}

void Training::take_snapshot_now(std::int64_t steps_done) {
  const PartScope part = in_part(messages::StepPart::kSnapshots);
  auto since = std::chrono::steady_clock::now();
  operations_.finish_exchanges();
  if (setup_.device.lags_behind()) {
    // Counts the wait for the device, because without a snapshot the host would run ahead.
    for (NetworkState* network : setup_.replica.networks()) {
      network->fetch_own(transport_.worker());
    }
  } else {
    since = std::chrono::steady_clock::now();
  }
  store_pools(steps_done, std::nullopt);
  snapshots_.take_now(steps_done, since);
}

void Training::store_pools(std::int64_t steps_done, std::optional<std::int64_t> snapshot) {
  ImagePools* pools = setup_.replica.pools();
  if (pools == nullptr) {
    return;
  }
  const PartScope part = in_part(messages::StepPart::kSnapshots);
  // Treats the pools like a network's update: an earlier snapshot first copies its deferred slices.
  const auto index = static_cast<NetworkId>(setup_.replica.networks().size());
  UpdateWatcher& watcher = snapshots_.taker().watcher(index);
  UpdatePlan plan;
  plan.counts.updates = steps_done;  // watchers expect the count after the update
  plan.snapshot_step = snapshot;
  exchange_.lane.wait(exchange_.lane.submit([&] {
    const UpdateSlice own{.range = pools->own_range()};
    watcher.before_update(own);
    pools->store(steps_done);
    watcher.after_update(own, plan);
  }));
}

void Training::perform(const std::vector<pipeline::Instruction>& schedule, std::int64_t step) {
  try {
    // A trace cannot show a recorded step's instructions; a plain step computes the same bits.
    if (graphs_ && !trace_.is_on()) {
      graphs_->run(schedule, traced_operations_);
    } else {
      pipeline::execute(schedule, traced_operations_);
    }
  } catch (...) {
    if (exchange_.on_stall) {
      const PerNetwork<std::string> names = setup_.job.network_names();
      const pipeline::Instruction& last = traced_operations_.last();
      const bool is_played = last.operation == pipeline::Operation::kPlay;
      exchange_.on_stall(fmt::format(
          "step {} ended at the instruction marked >\n{}\n{}", step,
          pipeline::heading_of(shares_.layout(), shares_.worker(), names),
          pipeline::list_with_place(is_played ? graphs_->played() : schedule, last, names)));
    }
    throw;
  }
}

void Training::run_step(std::int64_t step, bool snapshot_follows) {
  if (trace_.begins_at(step)) {
    trace_.begin();
  }
  device_clock_->begin_step(step);
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<pipeline::Instruction>& schedule = schedules_.of(step);
  if (remote_) {
    remote_->begin_step(step, schedule,
                        setup_.job.growth_level(step * setup_.job.images_per_step()));
  }
  operations_.begin_step(step, snapshot_follows);
  traced_operations_.begin_step(step);
  perform(schedule, step);
  device_clock_->end_step();
  setup_.device.require_own_kernels();
  // The update hook copies snapshots on the CPU only. On a GPU, or on a worker without parameters,
  // take the snapshot after the step.
  if (snapshot_follows && (setup_.device.lags_behind() || snapshots_.taker().is_empty())) {
    take_snapshot_now(step + 1);
  } else if (snapshot_follows) {
    store_pools(step + 1, step + 1);
  }
  if (trace_.is_on()) {
    trace_.compute().add(
        {begin, std::chrono::steady_clock::now(), ComputeEvent::Kind::kStep, step});
  }
  report(step + 1);
  if (trace_.ends_at(step + 1)) {
    end_trace();
  }
}

void Training::end_trace() {
  const PartScope part = in_part(messages::StepPart::kTrace);
  operations_.settle();
  try_to_write([this] { trace_.end(); });
}

void Training::try_to_write(const std::function<void()>& write) const {
  try {
    write();
  } catch (const EnvironmentError& error) {  // a full disk does not stop training
    if (exchange_.on_stall) {
      exchange_.on_stall(error.what());
    }
  }
}

void Training::write_pictures(std::int64_t steps_done) {
  const PartScope part = in_part(messages::StepPart::kPictures);
  const std::uint64_t sent_before = bytes_sent();
  if (steps_done == 0 && transport_.worker() == 0) {
    try_to_write([this] { pictures_.write_reals(); });
  }
  // Before the first step no begin_step() has set the network's size.
  setup_.replica.networks()[setup_.job.shown_network()]->network().grow_to(
      setup_.job.growth_level(steps_done * setup_.job.images_per_step()));
  const std::string file = fakes_file(setup_.job, setup_.options.output, steps_done);
  bool was_drawn_here = false;
  try_to_write([&] { was_drawn_here = pictures_.write_fakes(file); });
  if (was_drawn_here) {
    setup_.link.send(messages::Picture{.step = steps_done, .file = file});
  }
  reported_bytes_ += bytes_sent() - sent_before;  // pictures belong to no step
}

}  // namespace gangway::worker
