// SPDX-License-Identifier: MIT
#include "worker/link/coordinator_link_mpi.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "job/proto/messages.pb.h"
#include "run/control_protocol.hpp"

namespace gangway::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A farewell that cannot leave within this is of no use: the coordinator is gone.
constexpr milliseconds kFarewell{1000};

class ChannelLink : public CoordinatorLink {
 public:
  explicit ChannelLink(ControlChannel& channel) : channel_(channel) {}

  WelcomeInfo join(const HelloInfo& hello, milliseconds limit) override {
    messages::Envelope envelope;
    messages::Hello& message = *envelope.mutable_hello();
    message.set_protocol(kProtocolVersion);
    message.set_rank(hello.rank);
    message.set_host(hello.host);
    message.set_pid(hello.process.pid);
    message.set_boot_id(hello.process.boot_id);
    message.set_pid_namespace(hello.process.pid_namespace);
    message.set_start_ticks(hello.process.start_ticks);
    message.set_shared_memory(hello.shared_memory);
    message.set_device(hello.device);
    rank_ = hello.rank;
    send(envelope);
    const messages::Envelope answer = receive(limit, messages::Envelope::kWelcome, "the Welcome");
    return welcome_of(answer.welcome());
  }

  BeginInfo ask_begin(const std::vector<FoundPartInfo>& found, milliseconds limit) override {
    messages::Envelope envelope;
    messages::Inventory& message = *envelope.mutable_inventory();
    message.set_epoch(epoch_);
    for (const FoundPartInfo& one : found) {
      messages::SnapshotPart& part = *message.add_parts();
      part.set_step(one.step);
      part.set_incarnation(one.incarnation);
      part.set_taken_in(one.taken_in);
      part.set_worker(one.worker);
      part.set_num_workers(one.num_workers);
    }
    send(envelope);
    return next_begin(limit);
  }

  BeginInfo ask_another(const std::optional<LoadFailure>& failure, milliseconds limit) override {
    if (failure) {
      messages::Envelope envelope;
      messages::Unloadable& message = *envelope.mutable_unloadable();
      message.set_epoch(epoch_);
      message.set_attempt(attempt_);
      message.set_reason(failure->reason);
      message.set_part(failure->part);
      message.set_holder(failure->holder);
      send(envelope);
    }
    return next_begin(limit);
  }

  void loading(std::uint64_t bytes, std::uint64_t total) override {
    messages::Envelope envelope;
    messages::Loading& message = *envelope.mutable_loading();
    message.set_epoch(epoch_);
    message.set_bytes(bytes);
    message.set_total(total);
    send(envelope);
  }

  void ready(const ReadyInfo& ready) override {
    messages::Envelope envelope;
    messages::Ready& message = *envelope.mutable_ready();
    message.set_epoch(epoch_);
    message.set_plan_hash(ready.plan_hash);
    message.set_plan_summary(ready.plan_summary);
    message.set_generator_parameters(ready.generator_parameters);
    message.set_discriminator_parameters(ready.discriminator_parameters);
    message.set_data_fingerprint(ready.data_fingerprint);
    message.set_libtorch(ready.libtorch);
    message.set_has_buddies(ready.has_buddies);
    send(envelope);
  }

  LeaseInfo next_lease(milliseconds limit) override {
    const messages::Envelope envelope = receive(limit, messages::Envelope::kLease, "a lease");
    const messages::Lease& lease = envelope.lease();
    return {.begin = lease.begin(),
            .end = lease.end(),
            .pictures = lease.pictures(),
            .checkpoint_directory = lease.checkpoint_directory(),
            .last = lease.last(),
            .snapshots = {lease.snapshots().begin(), lease.snapshots().end()},
            .protected_snapshot = lease.protected_snapshot()};
  }

  void report(const ProgressInfo& progress) override {
    messages::Envelope envelope;
    messages::Progress& message = *envelope.mutable_progress();
    message.set_epoch(epoch_);
    message.set_step(progress.step);
    for (const MicrobatchLossInfo& loss : progress.losses) {
      messages::MicrobatchLoss& entry = *message.add_losses();
      entry.set_microbatch(loss.microbatch);
      entry.set_generator(loss.generator);
      entry.set_discriminator(loss.discriminator);
    }
    message.set_exposed_seconds(progress.exposed_seconds);
    message.set_data_seconds(progress.data_seconds);
    message.set_check_seconds(progress.check_seconds);
    message.set_host_wait_seconds(progress.host_wait_seconds);
    message.set_resident_bytes(progress.resident_bytes);
    message.set_sent_bytes(progress.sent_bytes);
    message.set_snapshot(progress.snapshot);
    message.set_snapshot_seconds(progress.snapshot_seconds);
    message.set_snapshot_wait_seconds(progress.snapshot_wait_seconds);
    message.set_copied_snapshot(progress.copied_snapshot);
    message.set_tried_snapshot(progress.tried_snapshot);
    message.set_snapshot_bytes(progress.snapshot_bytes);
    message.set_unfired(progress.unfired);
    for (const PhaseExposureInfo& exposure : progress.exposures) {
      messages::PhaseExposure& entry = *message.add_exposures();
      entry.set_phase(exposure.phase);
      entry.set_name(exposure.name);
      entry.set_seconds(exposure.seconds);
      entry.mutable_by_bucket()->Assign(exposure.by_bucket.begin(), exposure.by_bucket.end());
      entry.set_agrees(exposure.agrees);
    }
    send(envelope);
  }

  void checkpoint_part(const CheckpointPartInfo& part) override {
    messages::Envelope envelope;
    messages::CheckpointPart& message = *envelope.mutable_checkpoint_part();
    message.set_epoch(epoch_);
    message.set_step(part.step);
    message.set_worker(rank_ - 1);
    message.set_file(part.file);
    message.set_bytes(part.bytes);
    message.set_xxh3_128(part.xxh3_128);
    message.set_error(part.error);
    message.set_under_way(part.under_way);
    message.set_seconds(part.seconds);
    send(envelope);
  }

  void picture(std::int64_t step, const std::string& file) override {
    messages::Envelope envelope;
    messages::Picture& message = *envelope.mutable_picture();
    message.set_epoch(epoch_);
    message.set_step(step);
    message.set_file(file);
    send(envelope);
  }

  void stop(ExitCode code, const std::string& reason, const std::optional<int>& accused) override {
    messages::Envelope envelope;
    messages::Stop& message = *envelope.mutable_stop();
    message.set_epoch(epoch_);
    message.set_exit_code(static_cast<int>(code));
    message.set_reason(reason);
    message.set_accused(accused ? *accused + 1 : 0);  // its rank
    send(envelope);
    (void)channel_.flush(kFarewell);  // whether it left or not, the process ends now
  }

  void goodbye(milliseconds limit) override {
    say_goodbye();
    if (!channel_.flush(limit)) {
      throw CommError(
          fmt::format("rank {}: the Goodbye could not be sent within {} ms: is rank 0 alive?",
                      rank_, limit.count()));
    }
  }

 private:
  void send(const messages::Envelope& envelope) { channel_.send(envelope.SerializeAsString()); }

  void say_goodbye() {
    messages::Envelope envelope;
    envelope.mutable_goodbye()->set_epoch(epoch_);
    send(envelope);
  }

  /// The next message, which must be of `kind`, within `limit` of the last sign of life. A Stop is
  /// answered with Goodbye and thrown.
  messages::Envelope receive(milliseconds limit, messages::Envelope::BodyCase kind,
                             const char* what) {
    const auto end = steady_clock::now() + limit;
    std::optional<std::string> bytes = channel_.try_receive();
    while (!bytes) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
      if (left.count() <= 0) {
        throw CommError(fmt::format("rank {}: {} did not come within {} ms: is rank 0 alive?",
                                    rank_, what, limit.count()));
      }
      (void)channel_.wait(left);  // the loop looks for itself
      bytes = channel_.try_receive();
    }
    messages::Envelope envelope;
    if (!envelope.ParseFromString(*bytes)) {
      throw InvariantError(fmt::format(
          "rank {}: {} bytes from rank 0 are no message: start all ranks from one build", rank_,
          bytes->size()));
    }
    if (envelope.has_stop()) {
      say_goodbye();
      (void)channel_.flush(kFarewell);
      throw StoppedByCoordinator(static_cast<ExitCode>(envelope.stop().exit_code()),
                                 envelope.stop().reason());
    }
    if (envelope.has_patience()) {
      return receive(limit, kind, what);  // all of it again
    }
    if (envelope.body_case() != kind) {
      throw InvariantError(fmt::format("rank {}: rank 0 sent a message of kind {} instead of {}",
                                       rank_, static_cast<int>(envelope.body_case()), what));
    }
    return envelope;
  }

  BeginInfo next_begin(milliseconds limit) {
    const messages::Envelope answer =
        receive(limit, messages::Envelope::kBegin, "the state to begin with");
    const messages::Begin& begin = answer.begin();
    attempt_ = begin.attempt();
    BeginInfo info{
        .attempt = begin.attempt(), .step = begin.step(), .checkpoint = begin.checkpoint()};
    if (begin.has_snapshot()) {
      info.snapshot.emplace(SnapshotInfo{.incarnation = begin.snapshot().incarnation(),
                                         .taken_in = begin.snapshot().taken_in()});
      for (const messages::Holders& part : begin.snapshot().parts()) {
        info.snapshot->holders.emplace_back(part.workers().begin(), part.workers().end());
      }
    }
    return info;
  }

  WelcomeInfo welcome_of(const messages::Welcome& welcome) {
    epoch_ = welcome.epoch();
    WelcomeInfo info{.epoch = welcome.epoch(),
                     .job_yaml = welcome.job_yaml(),
                     .run_directory = welcome.run_directory(),
                     .ranges = {},
                     .lifeline = {.hosts = welcome.lifeline_host(),
                                  .port = static_cast<std::uint16_t>(welcome.lifeline_port()),
                                  .token = welcome.lifeline_token()},
                     .trace = {.begin = welcome.trace_begin(), .end = welcome.trace_end()},
                     .coordinator_memory = welcome.coordinator_memory(),
                     .run_id = welcome.run_id(),
                     .incarnation = welcome.incarnation()};
    for (const messages::WorkerRange& range : welcome.ranges()) {
      info.ranges.push_back({.begin = range.begin(), .end = range.end()});
    }
    return info;
  }

  ControlChannel& channel_;
  std::int64_t epoch_ = 0;
  std::int64_t attempt_ = 0;  // of the newest Begin
  int rank_ = 0;
};

}  // namespace

std::unique_ptr<CoordinatorLink> make_coordinator_link(ControlChannel& channel) {
  return std::make_unique<ChannelLink>(channel);
}

}  // namespace gangway::worker
