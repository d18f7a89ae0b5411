// SPDX-License-Identifier: MIT
#include "worker/pass/real_batches.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/families/families.hpp"

namespace gangway::worker {
namespace {

/// The reads of a worker, in the order in which its schedule asks for them.
data::RequestSource requests_of(const JobSpec& job, MicrobatchRange local,
                                std::int64_t first_step) {
  struct Position {
    std::int64_t step;
    int repeat = 0;
    int microbatch;
  };
  return
      [&job, local,
       at = Position{first_step, 0, local.begin}]() mutable -> std::optional<data::BatchRequest> {
        if (at.step >= job.total_steps() || local.size() == 0) {
          return std::nullopt;
        }
        const int count = job.images_per_microbatch();
        const std::int64_t first = at.step * job.images_per_step() +
                                   static_cast<std::int64_t>(at.repeat) * job.training.batch +
                                   static_cast<std::int64_t>(at.microbatch) * count;
        const data::BatchRequest request{at.step, at.repeat, at.microbatch, first, count};
        if (++at.microbatch == local.end) {
          at.microbatch = local.begin;
          if (++at.repeat == job.real_batches_per_step()) {
            at.repeat = 0;
            ++at.step;
          }
        }
        return request;
      };
}

/// `values` where they are wanted. A device takes them from pinned memory in the order of its
/// stream: from any other memory the host would wait until all that lies on the stream is done.
at::Tensor placed(const at::Tensor& values, at::Device device) {
  return device.is_cpu() ? values : values.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace

RealBatches::RealBatches(const JobSpec& job, const data::Dataset& dataset, MicrobatchRange local,
                         std::int64_t first_step, ComputeTrace* trace, at::Device device)
    : job_(job),
      local_(local),
      shape_(example_shape(job.model)),
      held_(static_cast<std::size_t>(local.size())),
      trace_(trace),
      device_(device) {
  shape_.front() = dataset.shape().channels;  // of both sides, where there are two
  shape_.insert(shape_.begin(), job.images_per_microbatch());
  loader_ = std::make_unique<data::Loader>(
      dataset, data::SampleOrder(job.training.seed, dataset.size()),
      data::LoaderOptions{.mirror = job.data.mirror ? data::Mirror::kKeyed : data::Mirror::kOff,
                          .augment = job.data.augment,
                          .pictures = job.data.has_two_sides() ? 2 : 1,
                          .prefetch = job.data.prefetch},
      requests_of(job, local, first_step));
}

const RealBatch& RealBatches::take(std::int64_t step, int repeat, int microbatch) {
  Held& held = held_[static_cast<std::size_t>(microbatch - local_.begin)];
  if (held.filled && held.memory.request.step == step && held.memory.request.repeat == repeat) {
    return held.batch;
  }
  if (held.filled) {
    held.batch = {};
    loader_->recycle(std::move(held.memory));
  }
  const auto begin = std::chrono::steady_clock::now();
  held.memory = loader_->next();
  const auto end = std::chrono::steady_clock::now();
  wait_seconds_ += std::chrono::duration<double>(end - begin).count();
  if (trace_ != nullptr && trace_->is_on()) {
    trace_->add({begin, end, ComputeEvent::Kind::kLoaderWait, step});
  }
  const data::BatchRequest& request = held.memory.request;
  if (request.step != step || request.repeat != repeat || request.microbatch != microbatch) {
    throw InvariantError(
        fmt::format("the loader read step {} micro-batch {} where step {} micro-batch {} was due",
                    request.step, request.microbatch, step, microbatch));
  }
  at::Tensor images = placed(at::from_blob(held.memory.images.data(), shape_, at::kFloat), device_);
  if (job_.numerics.memory_format == MemoryFormat::kChannelsLast && images.dim() == 4) {
    images = images.contiguous(at::MemoryFormat::ChannelsLast);
  }
  held.batch = {
      images,
      placed(at::from_blob(held.memory.labels.data(), {shape_.front()}, at::kLong), device_)};
  held.filled = true;
  return held.batch;
}

const RealBatch& RealBatches::latest(int microbatch) const {
  return held_[static_cast<std::size_t>(microbatch - local_.begin)].batch;
}

double RealBatches::take_wait_seconds() { return std::exchange(wait_seconds_, 0.0); }

}  // namespace gangway::worker
