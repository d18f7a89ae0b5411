// SPDX-License-Identifier: MIT
#include "coordinator/control/replies.hpp"

#include <string>

#include "base/text/utf8.hpp"

namespace gangway::coordinator {
namespace {

void fill(wire::Worker& reply, const WorkerStatus& worker) {
  reply.set_rank(worker.rank.value());
  reply.set_host(as_utf8(worker.host));
  reply.set_device(as_utf8(worker.device));
  reply.set_pid(worker.pid);
  reply.set_state(worker.state);
  reply.set_first_microbatch(worker.microbatches.begin);
  reply.set_end_microbatch(worker.microbatches.end);
  reply.set_networks(worker.networks);
  reply.set_steps_done(worker.steps_done);
  reply.set_work_seconds_per_step(worker.work_seconds_per_step);
  reply.set_wait_seconds_per_step(worker.wait_seconds_per_step);
  reply.set_data_seconds_per_step(worker.data_seconds_per_step);
  reply.set_resident_bytes(worker.memory.resident_bytes);
  reply.set_sent_mib_per_step(worker.sent_mib_per_step);
  reply.set_straggler(worker.is_straggler);
}

template <typename Reply>
void fill_losses(Reply& reply, const std::vector<report::NetworkLoss>& losses) {
  for (const report::NetworkLoss& one : losses) {
    wire::Loss& loss = *reply.add_losses();
    loss.set_network(one.network);
    loss.set_loss(one.loss);
  }
}

grpc::StatusCode code_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return grpc::StatusCode::OK;
    case Refusal::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Refusal::kNotNow:
      return grpc::StatusCode::FAILED_PRECONDITION;
  }
  return grpc::StatusCode::INTERNAL;
}

}  // namespace

std::string as_utf8(std::string text) {
  while (const auto bad = find_invalid_utf8(text)) {
    text[*bad] = '?';
  }
  return text;
}

void fill(wire::StatusReply& reply, const JobStatus& status) {
  reply.set_run_directory(as_utf8(status.run_directory));
  reply.set_run_id(status.run_id);
  reply.set_start(status.incarnation);
  reply.set_phase(std::string(name_of(status.phase)));
  reply.set_unix_seconds(status.unix_seconds);
  reply.set_step(status.step);
  reply.set_total_steps(status.total_steps);
  reply.set_kimg(status.kimg);
  reply.set_total_kimg(status.total_kimg);
  reply.set_step_seconds(status.step_seconds);
  reply.set_images_per_second(status.images_per_second);
  if (status.seconds_left) {
    reply.set_seconds_left(*status.seconds_left);
  }
  fill_losses(reply, status.losses);
  for (const WorkerStatus& worker : status.workers) {
    fill(*reply.add_workers(), worker);
  }
  if (status.checkpoint) {
    reply.mutable_checkpoint()->set_step(status.checkpoint->step);
    reply.mutable_checkpoint()->set_age_kimg(status.checkpoint->age_kimg);
    if (status.checkpoint->age_seconds) {
      reply.mutable_checkpoint()->set_age_seconds(*status.checkpoint->age_seconds);
    }
  }
  if (status.snapshot_step) {
    reply.set_snapshot_step(*status.snapshot_step);
  }
  if (status.pause) {
    reply.mutable_pause()->set_unix_seconds(status.pause->unix_seconds);
    reply.mutable_pause()->set_by(status.pause->by);
  }
  for (const std::string& picture : status.pictures) {
    reply.add_pictures(picture);
  }
  reply.set_version(GANGWAY_VERSION);
  reply.set_seconds_up(status.seconds_up);
  reply.set_waits_for(status.waits_for);
}

void fill(wire::Tick& reply, const report::Tick& tick) {
  reply.set_index(tick.index);
  reply.set_step(tick.step);
  reply.set_kimg(tick.kimg);
  reply.set_images_per_second(tick.images_per_second);
  fill_losses(reply, tick.losses);
  reply.set_line(report::tick_line(tick));
}

grpc::Status fill(wire::CommandReply& reply, const CommandAnswer& answer) {
  if (answer.refusal != Refusal::kNone) {
    return {code_of(answer.refusal), answer.text};
  }
  reply.set_text(as_utf8(answer.text));
  reply.set_step(answer.step);
  return grpc::Status::OK;
}

Order order_of(const wire::PauseRequest& /*request*/) { return PauseJob{}; }
Order order_of(const wire::ResumeRequest& /*request*/) { return ResumeJob{}; }
Order order_of(const wire::CheckpointRequest& request) {
  return SaveCheckpoint{.pin = request.pin()};
}
Order order_of(const wire::SetRequest& request) {
  return SetKey{.key = request.key(), .value = request.value()};
}
Order order_of(const wire::TraceRequest& request) {
  return TraceJob{
      .begin = request.begin(),
      .end = request.end(),
      .detail = {
          .shapes = request.shapes(), .memory = request.memory(), .kernels = request.kernels()}};
}
Order order_of(const wire::DrainRequest& request) { return DrainWorkers{.name = request.host()}; }
Order order_of(const wire::ResizeRequest& request) {
  return ResizeJob{.workers = request.workers()};
}
Order order_of(const wire::StopRequest& /*request*/) { return StopJob{}; }

}  // namespace gangway::coordinator
