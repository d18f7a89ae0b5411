// SPDX-License-Identifier: MIT
// Workers with a known state, and their snapshots on a loopback.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "comm/transport/loopback_transport.hpp"
#include "job/file/fingerprint.hpp"
#include "tests/comm/spawn_ranks.hpp"
#include "tests/worker/small_network.hpp"
#include "worker/state/snapshot_service.hpp"

namespace gangway::worker {

namespace fs = std::filesystem;

inline constexpr std::int64_t kSavedStep = 40;

/// What one worker keeps: a generator with an average and a discriminator.
struct Worker {
  explicit Worker(int num_workers, std::int64_t channels = 20,
                  MemoryFormat format = MemoryFormat::kChannelsLast)
      : generator(small_network("generator", channels)),
        discriminator(small_network("discriminator", 2 * channels)),
        generator_state(
            generator,
            {.format = format, .num_workers = num_workers, .averaging = Averaging::kYes}),
        discriminator_state(discriminator, {.format = format, .num_workers = num_workers}) {}
  [[nodiscard]] std::vector<NetworkState*> states() {
    return {&generator_state, &discriminator_state};
  }

  gan::Network generator;
  gan::Network discriminator;
  NetworkState generator_state;
  NetworkState discriminator_state;
};

inline std::vector<comm::Arena*> arenas_of(NetworkState& state) {
  std::vector<comm::Arena*> arenas{&state.weights()};
  for (comm::Arena& moment : state.moments()) {
    arenas.push_back(&moment);
  }
  if (state.average() != nullptr) {
    arenas.push_back(state.average());
  }
  return arenas;
}

/// A value that tells network, arena, tensor and logical element apart.
inline float value_of(std::size_t network, std::size_t arena, std::size_t place,
                      std::int64_t element) {
  return static_cast<float>(network * 4 + arena) + 0.01F * static_cast<float>(place) +
         1e-5F * static_cast<float>(element);
}

/// The logical values of every place, whole.
inline void fill(Worker& worker) {
  const at::NoGradGuard no_grad;
  for (std::size_t n = 0; n < worker.states().size(); ++n) {
    NetworkState& state = *worker.states()[n];
    const std::vector<comm::Arena*> arenas = arenas_of(state);
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      for (std::size_t p = 0; p < state.places().size(); ++p) {
        at::Tensor view = NetworkState::view(arenas[a]->data(), state.places()[p]);
        at::Tensor values = at::empty(view.sizes(), at::kFloat);
        for (std::int64_t i = 0; i < values.numel(); ++i) {
          values.mutable_data_ptr<float>()[i] = value_of(n, a, p, i);
        }
        view.copy_(values);
      }
    }
    state.counts.updates = 100 + static_cast<std::int64_t>(n);
  }
}

/// Wipes what training leaves to other workers: moments and average outside the own slices.
inline void forget_foreign_slices(Worker& worker, int me) {
  for (NetworkState* state : worker.states()) {
    for (comm::Arena* arena : arenas_of(*state)) {
      for (std::size_t bucket = 0;
           arena != &state->weights() && bucket < state->plan().num_buckets(); ++bucket) {
        for (int other = 0; other < state->plan().num_workers(); ++other) {
          const std::span<float> slice = arena->range(state->plan().slice(bucket, other));
          if (other != me && !slice.empty()) {
            std::memset(slice.data(), 0xFF, slice.size_bytes());  // not a number
          }
        }
      }
    }
  }
}

/// The weights whole, the own slices of all else.
inline void expect_filled(Worker& worker, int me, int num_workers) {
  for (std::size_t n = 0; n < worker.states().size(); ++n) {
    NetworkState& state = *worker.states()[n];
    const std::vector<comm::Arena*> arenas = arenas_of(state);
    for (std::size_t a = 0; a < arenas.size(); ++a) {
      std::vector<char> is_wanted(state.layout().size(), arenas[a] == &state.weights() ? 1 : 0);
      for (std::size_t bucket = 0; bucket < state.plan().num_buckets(); ++bucket) {
        const comm::ElementRange own = state.plan().slice(bucket, me);
        std::fill(is_wanted.begin() + static_cast<std::ptrdiff_t>(own.begin),
                  is_wanted.begin() + static_cast<std::ptrdiff_t>(own.end), 1);
      }
      for (std::size_t p = 0; p < state.places().size(); ++p) {
        const NetworkState::TensorPlace& place = state.places()[p];
        if (place.is_statistic && arenas[a] != &state.weights() && arenas[a] != state.average()) {
          continue;
        }
        const at::Tensor stored = NetworkState::view(arenas[a]->data(), place).contiguous();
        const at::Tensor wanted = at::empty_strided(place.sizes, place.strides, at::kChar).zero_();
        std::memcpy(wanted.mutable_data_ptr(), is_wanted.data() + place.range.begin,
                    place.range.size());
        const at::Tensor logical = wanted.contiguous();
        for (std::int64_t i = 0; i < stored.numel(); ++i) {
          if (logical.const_data_ptr<std::int8_t>()[i] == 0) {
            continue;
          }
          ASSERT_EQ(stored.const_data_ptr<float>()[i], value_of(n, a, p, i))
              << num_workers << " workers, " << place.name << ", arena " << a << ", element " << i;
        }
      }
    }
    EXPECT_EQ(state.counts.updates, 100 + static_cast<std::int64_t>(n));
  }
}

inline const JobSpec kJob;

/// Where the workers of one start meet, and what they are to begin with.
struct Start {
  int num_workers = 1;
  fs::path run;
  MemoryFormat format = MemoryFormat::kChannelsLast;
  fs::path resume = {};
  int snapshot_parts = 0;  ///< above 0: of the snapshot of kSavedStep to go on from
  const JobSpec* job = &kJob;
  std::vector<int> hosts = {};  ///< by worker; empty: all are on one
};

/// What one worker's service reported.
using Parts = std::vector<messages::CheckpointPart>;

/// A coordinator that knows its proposals beforehand.
class ScriptedLink final : public StateLink {
 public:
  explicit ScriptedLink(std::deque<messages::Begin> begins) : begins_(std::move(begins)) {}

  messages::Begin ask_begin(const messages::Inventory& inventory,
                            std::chrono::milliseconds) override {
    found = inventory;
    return next();
  }
  messages::Begin ask_another(const std::optional<messages::Unloadable>& failure,
                              std::chrono::milliseconds) override {
    if (failure) {
      failures.push_back(*failure);
    }
    return next();
  }
  void send(const messages::Message& message) override {
    const auto* part = std::get_if<messages::CheckpointPart>(&message);
    if (part != nullptr && !part->under_way) {
      parts.push_back(*part);
    }
  }

  Parts parts;
  messages::Inventory found;
  std::vector<messages::Unloadable> failures;

 private:
  messages::Begin next() {
    if (begins_.empty()) {  // as a coordinator that has nothing left
      throw CheckpointError(failures.empty() ? "another worker failed" : failures.back().reason);
    }
    messages::Begin begin = begins_.front();
    begins_.pop_front();
    return begin;
  }
  std::deque<messages::Begin> begins_;
};

/// A start's memory of one of its workers: all are on one host.
inline fs::path memory_of(const Start& start) {
  fs::create_directories(start.run / checkpoint::kSnapshotsFolder);
  return start.run / checkpoint::kSnapshotsFolder;
}

inline StateSetup state_setup(const Start& start, const fs::path& shared_memory,
                              std::vector<NetworkState*> networks, comm::Transport& transport,
                              comm::Lane& lane, StateLink& link) {
  return {.job = *start.job,
          .options = *start.job,
          .job_fingerprint = job_fingerprint(*start.job),
          .run_directory = start.run,
          .link = link,
          .networks = std::move(networks),
          .transport = transport,
          .lane = lane,
          .workers_on_machine = start.num_workers,
          .hosts = start.hosts,
          .shared_memory = shared_memory,
          .timeout = std::chrono::seconds(20)};
}

/// All parts of `num_parts` lie on the host of all of `num_workers`.
inline messages::WholeSnapshot held_by_all(int num_parts, int num_workers) {
  std::vector<WorkerIndex> all(static_cast<std::size_t>(num_workers));
  std::iota(all.begin(), all.end(), WorkerIndex(0));
  return {.id = {.step = kSavedStep, .num_workers = num_parts},
          .holders = std::vector(static_cast<std::size_t>(num_parts), all)};
}

inline messages::Begin begin_of(const Start& start) {
  messages::Begin begin{.attempt = 1, .checkpoint = start.resume.string()};
  if (start.snapshot_parts > 0) {
    begin.step = kSavedStep;
    begin.snapshot = held_by_all(start.snapshot_parts, start.num_workers);
  }
  return begin;
}

/// Runs `body(worker's index, worker, its service, what it reported)` on every worker of a
/// loopback.
inline void on_workers(const Start& start,
                       const std::function<void(int, Worker&, SnapshotService&, Parts&)>& body) {
  const fs::path memory = memory_of(start);
  comm::LoopbackHub hub(start.num_workers);
  comm::spawn_ranks(start.num_workers, [&](int me) {
    comm::LoopbackTransport transport(hub, me);
    comm::Lane lane([] {});
    Worker worker(start.num_workers, 20, start.format);
    ScriptedLink link(std::deque<messages::Begin>{begin_of(start)});
    const StateSetup setup = state_setup(start, memory, worker.states(), transport, lane, link);
    SnapshotService service(setup, begin_state(setup));
    body(me, worker, service, link.parts);
  });
}

}  // namespace gangway::worker
