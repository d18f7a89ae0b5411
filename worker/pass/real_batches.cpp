// SPDX-License-Identifier: MIT
#include "worker/pass/real_batches.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "gan/evaluation/step_batch.hpp"
#include "job/families/families.hpp"
#include "worker/trace/step_clock.hpp"

namespace gangway::worker {
namespace {

/// Returns the reads of a worker, in the order of its schedule.
data::RequestSource requests_of(const Job& job, const std::vector<int>& microbatches,
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
    const std::int64_t batch = at.step * job.real_batches_per_step() + at.repeat;
    const std::int64_t first =
        batch * job.training.batch + static_cast<std::int64_t>(microbatch) * count;
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

}  // namespace

RealBatches::RealBatches(const Job& job, const data::Dataset& dataset, MicrobatchRange local,
                         std::int64_t first_step, ComputeTrace* trace,
                         const StagingMaker& make_staging)
    : RealBatches(job, dataset, microbatches_in(local), first_step, trace, make_staging) {}

RealBatches::RealBatches(const Job& job, const data::Dataset& dataset,
                         std::span<const int> microbatches, std::int64_t first_step,
                         ComputeTrace* trace, const StagingMaker& make_staging)
    : job_(job),
      dataset_(dataset),
      microbatches_(microbatches.begin(), microbatches.end()),
      shape_(example_shape(job.model)),
      held_(microbatches_.size()),
      trace_(trace) {
  for (const HeldBatch& held : held_) {
    latest_.push_back(&held.batch);
  }
  shape_.front() = dataset.shape().channels;  // of both sides of a pair
  shape_.insert(shape_.begin(), job.images_per_microbatch());
  data::LoaderOptions options{.mirror = job.data.mirror ? data::Mirror::kKeyed : data::Mirror::kOff,
                              .augment = job.data.augment,
                              .pictures = job.data.has_two_sides() ? 2 : 1,
                              .prefetch = job.data.prefetch,
                              .threads = std::clamp(job.data.threads, 1, job.data.prefetch)};
  if (make_staging && dataset.reads() != data::Reads::kNamed) {
    // Keeps examples only without random augmentation, which makes a new picture each time;
    // mirroring is allowed.
    const bool are_kept = job.data.cache != 0 && job.data.augment == AugmentSpec{};
    staging_ = make_staging(
        {.shape = shape_,
         .format = job.numerics.memory_format,
         .num_places = held_.size() * static_cast<std::size_t>(job.real_batches_per_step()),
         .num_read = static_cast<std::size_t>(job.data.prefetch),
         .examples =
             are_kept ? static_cast<std::size_t>(dataset.size()) * (job.data.mirror ? 2 : 1) : 0});
  }
  if (staging_) {
    options.kept = staging_->kept();
    options.pack_into = [this](std::size_t bytes) { return staging_->allocate(bytes); };
  }
  loader_ =
      std::make_unique<data::Loader>(dataset, data::SampleOrder(job.training.seed, dataset.size()),
                                     options, requests_of(job, microbatches_, first_step));
}

std::size_t RealBatches::index_of(int microbatch) const {
  const auto found = std::ranges::find(microbatches_, microbatch);
  if (found == microbatches_.end()) {
    throw InvariantError(
        fmt::format("this worker does not load micro-batch {}, which it needs; please report this",
                    microbatch));
  }
  return static_cast<std::size_t>(found - microbatches_.begin());
}

const RealBatch& RealBatches::take(std::int64_t step, int repeat, int microbatch) {
  const std::size_t index = index_of(microbatch);
  const data::BatchRequest due{.step = step, .repeat = repeat, .microbatch = microbatch};
  HeldBatch& held = prepared_step_ == step ? prepared_[place_of(due)] : held_[index];
  if (!held.filled || held.request.step != step || held.request.repeat != repeat) {
    show(held, due);
  }
  latest_[index] = &held.batch;
  return held.batch;
}

void RealBatches::prepare(std::int64_t step) {
  if (prepared_step_ == step) {
    return;
  }
  prepared_.resize(held_.size() * static_cast<std::size_t>(job_.real_batches_per_step()));
  prepared_step_ = step;
  for (int repeat = 0; repeat < job_.real_batches_per_step(); ++repeat) {
    for (const int microbatch : microbatches_) {
      (void)take(step, repeat, microbatch);
    }
  }
}

void RealBatches::show(HeldBatch& held, const data::BatchRequest& due) {
  const PartScope part = in_part(messages::StepPart::kDataCopy);
  if (staging_) {
    show_staged(held, due.step);
  } else {
    show_read(held, due.step);
  }
  const data::BatchRequest& request = held.request;
  if (request.step != due.step || request.repeat != due.repeat ||
      request.microbatch != due.microbatch) {
    throw InvariantError(
        fmt::format("the loader read step {} micro-batch {} where step {} micro-batch {} was due",
                    request.step, request.microbatch, due.step, due.microbatch));
  }
  held.filled = true;
}

data::Batch RealBatches::next_read(std::int64_t step) {
  const PartScope part = in_part(messages::StepPart::kData);
  const auto begin = std::chrono::steady_clock::now();
  data::Batch batch = loader_->next();
  if (trace_ != nullptr && trace_->is_on()) {
    trace_->add({begin, std::chrono::steady_clock::now(), ComputeEvent::Kind::kLoaderWait, step});
  }
  return batch;
}

void RealBatches::show_read(HeldBatch& held, std::int64_t step) {
  if (held.filled) {
    held.batch = {};
    loader_->recycle(std::move(held.memory));
  }
  held.memory = next_read(step);
  held.request = held.memory.request;
  if (dataset_.reads() == data::Reads::kNamed) {
    held.batch.named = gan::named_tensors(held.memory.named);
    return;
  }
  at::Tensor images = at::from_blob(held.memory.images.data(), shape_, at::kFloat);
  if (job_.numerics.memory_format == MemoryFormat::kChannelsLast && images.dim() == 4) {
    images = images.contiguous(at::MemoryFormat::ChannelsLast);
  }
  held.batch = {images, at::from_blob(held.memory.labels.data(), {shape_.front()}, at::kLong)};
}

void RealBatches::show_staged(HeldBatch& held, std::int64_t step) {
  if (staging_->num_staged() == 0) {
    staging_->stage(next_read(step));
  }
  held.request = staging_->next_request();
  held.batch = staging_->put(place_of(held.request));
  stage_ahead();
}

void RealBatches::stage_ahead() {
  std::optional<data::Batch> batch;
  do {
    const bool has_room = staging_->has_room();
    while (std::optional<data::Batch> copied = staging_->take_copied()) {
      loader_->recycle(std::move(*copied));  // before the loader makes more
    }
    batch = has_room ? loader_->try_next() : std::nullopt;
    if (batch) {
      staging_->stage(std::move(*batch));
    }
  } while (batch);
}

std::size_t RealBatches::place_of(const data::BatchRequest& request) const {
  return static_cast<std::size_t>(request.repeat) * held_.size() + index_of(request.microbatch);
}

std::vector<double> RealBatches::take_loader_figures() {
  const data::LoaderTimes now = loader_->times();
  std::vector<double> figures = {now.read,
                                 now.decode,
                                 now.fit,
                                 now.augment,
                                 now.pack,
                                 now.no_room,
                                 static_cast<double>(now.asked),
                                 static_cast<double>(now.ready)};
  static_assert(messages::kLoaderFigureNames.size() == 8);
  std::vector<double> before = std::exchange(last_figures_, figures);
  before.resize(figures.size(), 0.0);
  std::ranges::transform(figures, before, figures.begin(), std::minus());
  return figures;
}

const RealBatch& RealBatches::latest(int microbatch) const {
  return *latest_[index_of(microbatch)];
}

}  // namespace gangway::worker
