// SPDX-License-Identifier: MIT
// Reads a worker's micro-batches ahead of the training, in threads of its own.
//
// Created by the worker's training loop, once a lease layout; the compute thread calls `next` and
// `recycle`. A batch depends on its request only, not on the number of threads, the prefetch depth
// or the worker.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/guarded.hpp"
#include "data/dataset.hpp"
#include "data/images/packed_batch.hpp"
#include "data/kept_examples.hpp"
#include "data/permutation.hpp"
#include "data/times/loader_times.hpp"
#include "job/spec.hpp"

namespace gangway::data {

/// One micro-batch of real images.
struct BatchRequest {
  std::int64_t step = 0;
  int repeat = 0;  ///< n_critic position
  int microbatch = 0;
  std::int64_t first_sample = 0;  ///< global cursor of its first image
  int count = 0;                  ///< images
  bool operator==(const BatchRequest&) const = default;
};

struct Batch {
  BatchRequest request;
  std::vector<float> images;         ///< [count, channels, height, width], values in [-1, 1]
  std::vector<std::int64_t> labels;  ///< [count]; zeros if there are no labels
  std::vector<std::int64_t> places;  ///< [count], in KeptExamples; empty: none are kept
  bool is_kept = false;              ///< whole batch is on a device; nothing was read
  PackedBatch packed;                ///< images and labels for a device; empty unless packing
  NamedBatch named;                  ///< replaces images and labels for other data
};

enum class Mirror {
  kOff,
  kKeyed
};  ///< kKeyed: half of the images flipped left to right, by (seed, global cursor)

/// Returns the next request, or nothing at the end. Called by the loader's threads, one at a time.
using RequestSource = std::function<std::optional<BatchRequest>()>;

struct LoaderOptions {
  Mirror mirror = Mirror::kOff;
  AugmentSpec augment = {};  ///< keyed as mirror; applied after it
  int pictures = 1;          ///< pictures of an example: 2 with two sides
  int prefetch = 4;          ///< micro-batches ready or in work, beyond the one handed out
  int threads = 1;
  std::chrono::milliseconds deadline{60'000};  ///< for one call of `next`
  BlockAllocator pack_into = {};               ///< memory for packing; null: no packing
  const KeptExamples* kept = nullptr;          ///< examples on a device; null: none
  LoaderLedger* ledger = nullptr;              ///< receives the times; null: none are measured
};

/// Fills `batch` for `request` on the calling thread, for use without a loader (reals.png,
/// evaluation). Reuses the batch's memory. @throws ConfigError from Dataset::read
/// @param options  uses only the options that change pictures
void read_batch(const Dataset& dataset, const SampleOrder& order, const LoaderOptions& options,
                const BatchRequest& request, Batch& batch);

class Loader {
 public:
  /// Starts reading at once. `dataset` outlives the loader.
  /// @pre options.prefetch >= 1, options.threads >= 1
  Loader(const Dataset& dataset, SampleOrder order, LoaderOptions options, RequestSource requests);
  /// Stops the threads; each ends after the image that it is reading.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Waits for the batch of the next request and returns it.
  /// @throws the reader's ConfigError; EnvironmentError past the deadline; InvariantError after the
  /// end
  [[nodiscard]] Batch next();
  /// Returns the next batch if it is ready; never throws the reader's errors, `next` does.
  [[nodiscard]] std::optional<Batch> try_next();
  /// Takes a batch's memory for reuse, so that the steady state allocates nothing.
  void recycle(Batch&& batch);
  /// Returns the times of its threads so far. Any thread, no lock.
  [[nodiscard]] LoaderTimes times() const;

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr failure;
    bool ready = false;
  };

  void read_ahead(const std::stop_token& stop);
  /// Takes the next request and returns its slot; null when stopped or at the end.
  Slot* claim(const std::stop_token& stop);

  const Dataset& dataset_;
  const DecodeTimes decoded_before_;  ///< times of the data set before this loader
  const SampleOrder order_;
  const LoaderOptions options_;
  LoaderLedger ledger_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  RequestSource requests_ GANGWAY_GUARDED_BY(mutex_);
  /// Slots in request order; next() takes the front. Until a slot is ready, its batch belongs to
  /// the thread that reads it.
  std::deque<std::unique_ptr<Slot>> slots_ GANGWAY_GUARDED_BY(mutex_);
  std::vector<Batch> spare_ GANGWAY_GUARDED_BY(mutex_);
  std::exception_ptr source_failure_ GANGWAY_GUARDED_BY(mutex_);  ///< what requests_ threw
  bool at_end_ GANGWAY_GUARDED_BY(mutex_) = false;

  std::vector<std::jthread> threads_;  ///< last member: joined before the others are destroyed
};

}  // namespace gangway::data
