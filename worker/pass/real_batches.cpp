// SPDX-License-Identifier: MIT
#include "worker/pass/real_batches.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/families/families.hpp"

namespace gangway::worker {
namespace {

/// The reads of a worker, in the order in which its schedule asks for them.
data::RequestSource requests_of(const JobSpec& job, const std::vector<int>& microbatches,
                                std::int64_t first_step) {
  struct Position {
    std::int64_t step;
    int repeat = 0;
    std::size_t place = 0;  // in `microbatches`
  };
  return [&job, microbatches,
          at = Position{first_step}]() mutable -> std::optional<data::BatchRequest> {
    if (at.step >= job.total_steps() || microbatches.empty()) {
      return std::nullopt;
    }
    const int count = job.images_per_microbatch();
    const int microbatch = microbatches[at.place];
    const std::int64_t first = at.step * job.images_per_step() +
                               static_cast<std::int64_t>(at.repeat) * job.training.batch +
                               static_cast<std::int64_t>(microbatch) * count;
    const data::BatchRequest request{at.step, at.repeat, microbatch, first, count};
    if (++at.place == microbatches.size()) {
      at.place = 0;
      if (++at.repeat == job.real_batches_per_step()) {
        at.repeat = 0;
        ++at.step;
      }
    }
    return request;
  };
}

std::vector<int> microbatches_in(MicrobatchRange range) {
  std::vector<int> all(static_cast<std::size_t>(range.size()));
  std::iota(all.begin(), all.end(), range.begin);
  return all;
}

/// `values` where they are wanted. A device takes them from pinned memory in the order of its
/// stream: from any other memory the host would wait until all that lies on the stream is done.
at::Tensor placed(const at::Tensor& values, at::Device device) {
  return device.is_cpu() ? values : values.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace

RealBatches::RealBatches(const JobSpec& job, const data::Dataset& dataset, MicrobatchRange local,
                         std::int64_t first_step, ComputeTrace* trace, at::Device device)
    : RealBatches(job, dataset, microbatches_in(local), first_step, trace, device) {}

RealBatches::RealBatches(const JobSpec& job, const data::Dataset& dataset,
                         std::vector<int> microbatches, std::int64_t first_step,
                         ComputeTrace* trace, at::Device device)
    : job_(job),
      microbatches_(std::move(microbatches)),
      shape_(example_shape(job.model)),
      held_(microbatches_.size()),
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
      requests_of(job, microbatches_, first_step));
}

std::size_t RealBatches::place_of(int microbatch) const {
  const auto found = std::ranges::find(microbatches_, microbatch);
  if (found == microbatches_.end()) {
    throw InvariantError(fmt::format(
        "micro-batch {} is looked at where nobody reads it; please report this", microbatch));
  }
  return static_cast<std::size_t>(found - microbatches_.begin());
}

const RealBatch& RealBatches::take(std::int64_t step, int repeat, int microbatch) {
  Held& held = held_[place_of(microbatch)];
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
  return held_[place_of(microbatch)].batch;
}

double RealBatches::take_wait_seconds() { return std::exchange(wait_seconds_, 0.0); }

}  // namespace gangway::worker
