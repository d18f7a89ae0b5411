// SPDX-License-Identifier: MIT
// Reads the micro-batches of a worker ahead of the training, in threads of its own.
//
// Made by the worker's training loop, one a lease layout; `next` and `recycle` are called from the
// compute thread. What a batch holds depends on its request alone: not on the number of threads,
// the prefetch depth or the worker.
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
#include "gan/data/dataset.hpp"
#include "gan/data/images/packed_batch.hpp"
#include "gan/data/kept_examples.hpp"
#include "gan/data/permutation.hpp"
#include "gan/data/times/loader_times.hpp"
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
  std::vector<std::int64_t> labels;  ///< [count]; zeros where the source has none
  std::vector<std::int64_t> places;  ///< [count], of KeptExamples; empty: none are kept
  bool is_kept = false;              ///< a device has all of it: nothing was read
  PackedBatch packed;                ///< both, for a device; empty unless the loader packs
  NamedBatch named;                  ///< instead of both, where the data are no pictures
};

enum class Mirror {
  kOff,
  kKeyed
};  ///< kKeyed: half of the images flipped left to right, by (seed, global cursor)

/// The coming requests in order, or nothing when there are no more. Called by the loader's threads,
/// one at a time.
using RequestSource = std::function<std::optional<BatchRequest>()>;

struct LoaderOptions {
  Mirror mirror = Mirror::kOff;
  AugmentSpec augment = {};  ///< keyed as mirror; behind it
  int pictures = 1;          ///< that an example is made of: 2 where there are two sides
  int prefetch = 4;          ///< micro-batches ready or in work, beyond the one handed out
  int threads = 1;
  std::chrono::milliseconds deadline{60'000};  ///< of one `next`
  BlockAllocator pack_into = {};  ///< where batches are packed for a device; null: they are not
  const KeptExamples* kept = nullptr;  ///< what need not be read again; null: all is read
  LoaderLedger* ledger = nullptr;      ///< gets the times of reading; null: they are not measured
};

/// Fills `batch` for `request` on the calling thread: what the loader's threads do, for use without
/// a loader (reals.png, evaluation). Reuses the batch's memory. @throws ConfigError of
/// Dataset::read.
/// @param options  what is done to pictures; the rest is the loader's
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

  /// The batch of the next request in order; waits for it.
  /// @throws what reading it threw (ConfigError), EnvironmentError past the deadline,
  /// InvariantError after the last.
  [[nodiscard]] Batch next();
  /// The same where it is there already, and nothing else: what reading it threw is left to `next`.
  [[nodiscard]] std::optional<Batch> try_next();
  /// Gives a batch's memory back, so that the steady state allocates nothing.
  void recycle(Batch&& batch);
  /// What its threads have done up to now. Any thread, no lock.
  [[nodiscard]] LoaderTimes times() const;

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr failure;
    bool ready = false;
  };

  void read_ahead(const std::stop_token& stop);
  /// The next slot to be filled, its request taken; null when stopped or at the end.
  Slot* claim(const std::stop_token& stop);

  const Dataset& dataset_;
  const DecodeTimes decoded_before_;  ///< by the data set, for others
  const SampleOrder order_;
  const LoaderOptions options_;
  LoaderLedger ledger_;

  Mutex mutex_;
  std::condition_variable_any changed_;
  RequestSource requests_ GANGWAY_GUARDED_BY(mutex_);
  /// In request order; the front is handed out next. A slot's batch is its reader's until it is
  /// ready.
  std::deque<std::unique_ptr<Slot>> slots_ GANGWAY_GUARDED_BY(mutex_);
  std::vector<Batch> spare_ GANGWAY_GUARDED_BY(mutex_);
  std::exception_ptr source_failure_ GANGWAY_GUARDED_BY(mutex_);  ///< what requests_ threw
  bool at_end_ GANGWAY_GUARDED_BY(mutex_) = false;

  std::vector<std::jthread> threads_;  ///< last: joined before what they use goes away
};

}  // namespace gangway::data
