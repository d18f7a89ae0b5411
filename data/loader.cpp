// SPDX-License-Identifier: MIT
#include "data/loader.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/thread_name.hpp"
#include "data/augment/augment.hpp"

namespace gangway::data {
namespace {

bool is_mirrored(std::uint64_t seed, std::int64_t cursor) {
  const KeyedRandom random(RandomKey{.seed = seed,
                                     .step = cursor,
                                     .phase = kPhaseData,
                                     .draw = static_cast<std::int32_t>(RandomDraw::kMirror)});
  return (random.bits(0) & 1U) != 0;
}

void mirror_rows(std::span<float> image, int width) {
  const auto length = static_cast<std::size_t>(width);
  for (std::size_t at = 0; at < image.size(); at += length) {
    std::ranges::reverse(image.subspan(at, length));
  }
}

/// Rejects NaN and infinity, so that a bad file does not look like a diverging training.
/// @throws ConfigError
void require_finite(std::span<const float> example, std::int64_t index) {
  if (!std::ranges::all_of(example, [](float value) { return std::isfinite(value); })) {
    throw ConfigError(fmt::format(
        "data.source: a value of example {} (counted from 0) is not finite; mend or remove it",
        index));
  }
}

/// Computes the examples' places in KeptExamples; none if no device keeps examples.
void find_places(const SampleOrder& order, const LoaderOptions& options,
                 const BatchRequest& request, std::vector<std::int64_t>& places) {
  const bool mirrors = options.mirror == Mirror::kKeyed;
  places.clear();
  for (int i = 0; options.kept != nullptr && i < request.count; ++i) {
    const std::int64_t cursor = request.first_sample + i;
    const std::int64_t index = order.dataset_index(cursor);
    places.push_back(mirrors ? 2 * index + (is_mirrored(order.seed(), cursor) ? 1 : 0) : index);
  }
}

std::vector<SeededExample> seeded_examples(const SampleOrder& order, const BatchRequest& request) {
  std::vector<SeededExample> examples;
  for (std::int64_t i = 0; i < request.count; ++i) {
    const std::int64_t cursor = request.first_sample + i;
    examples.push_back({.index = order.dataset_index(cursor),
                        .seed = seed_of_example(order.seed(), cursor, Asked::kByTraining)});
  }
  return examples;
}

}  // namespace

void read_batch(const Dataset& dataset, const SampleOrder& order, const LoaderOptions& options,
                const BatchRequest& request, Batch& batch) {
  const ExampleShape shape = dataset.shape();
  const auto count = static_cast<std::size_t>(request.count);
  batch.request = request;
  find_places(order, options, request, batch.places);
  batch.is_kept = options.kept != nullptr && options.kept->has_all(batch.places);
  if (batch.is_kept) {
    return;
  }
  Laps laps;
  if (dataset.reads() == Reads::kNamed) {
    dataset.read_named(seeded_examples(order, request), batch.named);
    if (options.ledger != nullptr) {
      options.ledger->example_ns.add(laps.lap_ns());
      options.ledger->images.add(request.count);
    }
    return;
  }
  batch.images.resize(count * shape.elements());
  batch.labels.resize(count);
  if (dataset.reads() == Reads::kPictures) {
    dataset.read_pictures(seeded_examples(order, request), batch.images, batch.labels);
  }
  std::vector<float> scratch;
  // The first example is read now; the disk fetches the others during its decoding.
  for (std::size_t i = 1; i < count; ++i) {
    dataset.expect(order.dataset_index(request.first_sample + static_cast<std::int64_t>(i)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t cursor = request.first_sample + static_cast<std::int64_t>(i);
    const std::span<float> image =
        std::span(batch.images).subspan(i * shape.elements(), shape.elements());
    const std::int64_t index = order.dataset_index(cursor);
    if (dataset.reads() == Reads::kExamples) {
      batch.labels[i] = dataset.read(index, image);
    }
    const std::int64_t example_ns = laps.lap_ns();
    require_finite(image, index);
    if (options.mirror == Mirror::kKeyed && is_mirrored(order.seed(), cursor)) {
      mirror_rows(image, shape.width);
    }
    augment(options.augment, {.seed = order.seed(), .cursor = cursor},
            {.values = image,
             .channels = shape.channels / options.pictures,
             .height = shape.height,
             .width = shape.width},
            scratch);
    if (options.ledger != nullptr) {
      options.ledger->example_ns.add(example_ns);
      options.ledger->augment_ns.add(laps.lap_ns());
      options.ledger->images.add(1);
    }
  }
}

Loader::Loader(const Dataset& dataset, SampleOrder order, LoaderOptions options,
               RequestSource requests)
    : dataset_(dataset),
      decoded_before_(dataset.decode_times()),
      order_(order),
      options_([&] {
        options.ledger = &ledger_;
        return std::move(options);
      }()),
      requests_(std::move(requests)) {
  if (options_.prefetch < 1 || options_.threads < 1) {
    throw InvariantError(fmt::format("loader with prefetch {} and {} threads: both are at least 1",
                                     options_.prefetch, options_.threads));
  }
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { read_ahead(stop); });
  }
}

Loader::~Loader() {
  for (std::jthread& thread : threads_) {
    thread.request_stop();
  }
}

LoaderTimes Loader::times() const {
  DecodeTimes decoding = dataset_.decode_times();
  decoding.decode -= decoded_before_.decode;
  decoding.fit -= decoded_before_.fit;
  decoding.bytes -= decoded_before_.bytes;
  return ledger_.times(decoding);
}

Loader::Slot* Loader::claim(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  Laps laps;
  const auto prefetch = static_cast<std::size_t>(options_.prefetch);
  const auto has_room_or_end = [&]() GANGWAY_REQUIRES(mutex_) {
    return at_end_ || slots_.size() < prefetch;
  };
  const bool is_let_in = changed_.wait(lock, stop, has_room_or_end);
  ledger_.no_room_ns.add(laps.lap_ns());
  if (!is_let_in || at_end_) {
    return nullptr;
  }
  std::optional<BatchRequest> request;
  try {
    request = requests_();
  } catch (...) {
    source_failure_ = std::current_exception();  // rethrown by next(), after the batches before it
  }
  if (!request) {
    at_end_ = true;
    changed_.notify_all();
    return nullptr;
  }
  auto slot = std::make_unique<Slot>();
  if (!spare_.empty()) {
    slot->batch = std::move(spare_.back());
    spare_.pop_back();
  }
  slot->batch.request = *request;
  slots_.push_back(std::move(slot));
  return slots_.back().get();
}

void Loader::read_ahead(const std::stop_token& stop) {
  name_this_thread("loader");
  while (Slot* slot = claim(stop)) {
    std::exception_ptr failure;
    try {
      const BatchRequest request = slot->batch.request;
      read_batch(dataset_, order_, options_, request, slot->batch);
      if (options_.pack_into) {
        Laps laps;
        Batch& batch = slot->batch;
        if (batch.is_kept) {
          pack_kept(batch.places, batch.places.size() * dataset_.shape().elements(),
                    options_.pack_into, batch.packed);
        } else {
          pack(batch.images, batch.labels, options_.pack_into, batch.packed, batch.places);
        }
        ledger_.pack_ns.add(laps.lap_ns());
      }
    } catch (...) {
      failure = std::current_exception();
    }
    const MutexLock lock(mutex_);
    slot->failure = failure;
    slot->ready = true;
    changed_.notify_all();
  }
}

Batch Loader::next() {
  MutexLock lock(mutex_);
  ledger_.asked.add(1);
  ledger_.ready.add(std::ranges::count(slots_, true, [](const auto& slot) { return slot->ready; }));
  const auto is_decided = [&]() GANGWAY_REQUIRES(mutex_) {
    return slots_.empty() ? at_end_ : slots_.front()->ready;
  };
  if (!changed_.wait_for(lock, options_.deadline, is_decided)) {
    throw EnvironmentError(
        fmt::format("data: no batch within {} s; is the disk of the data set hung or too slow?",
                    std::chrono::duration<double>(options_.deadline).count()));
  }
  if (slots_.empty()) {
    if (source_failure_) {
      std::rethrow_exception(source_failure_);
    }
    throw InvariantError("data: a batch was asked for after the last one");
  }
  const std::unique_ptr<Slot> slot = std::move(slots_.front());
  slots_.pop_front();
  changed_.notify_all();
  if (slot->failure) {
    std::rethrow_exception(slot->failure);
  }
  return std::move(slot->batch);
}

std::optional<Batch> Loader::try_next() {
  const MutexLock lock(mutex_);
  if (slots_.empty() || !slots_.front()->ready || slots_.front()->failure) {
    return std::nullopt;
  }
  Batch batch = std::move(slots_.front()->batch);
  slots_.pop_front();
  changed_.notify_all();
  return batch;
}

void Loader::recycle(Batch&& batch) {
  const MutexLock lock(mutex_);
  spare_.push_back(std::move(batch));  // at most as many as were in use at once
}

}  // namespace gangway::data
