// SPDX-License-Identifier: MIT
#include "worker/state_files.hpp"

#include <cstring>
#include <deque>

#include <fmt/format.h>

#include "comm/range_gather.hpp"
#include "job/errors.hpp"

namespace gangway::worker {
namespace {

/// One arena of a network under its name in checkpoints.
struct NamedArena {
  std::string prefix;
  comm::Arena* arena = nullptr;
  bool holds_statistics = false;
};

std::vector<NamedArena> arenas_of(NetworkState& network) {
  const std::string& name = network.network().name();
  std::vector<NamedArena> arenas{{name, &network.weights(), true}};
  if (network.average() != nullptr) {
    arenas.push_back({name + "_ema", network.average(), true});
  }
  arenas.push_back({name + "_optimizer/first_moment", &network.first_moment(), false});
  arenas.push_back({name + "_optimizer/second_moment", &network.second_moment(), false});
  return arenas;
}

/// "generator/0/weight" under prefix "generator_ema" → "generator_ema/0/weight".
std::string stored_name(const NamedArena& arena, const NetworkState::Place& place) {
  return arena.prefix + place.name.substr(place.name.find('/'));
}

std::string updates_name(NetworkState& network) {
  return network.network().name() + "_optimizer/updates";
}

comm::ElementRange span_of(const std::vector<NetworkState::Place>& places) {
  return places.empty() ? comm::ElementRange{}
                        : comm::ElementRange{places.front().range.begin, places.back().range.end};
}

/// A poisoned state must not become the newest checkpoint, from which a restart would never
/// recover.
void require_finite(const at::Tensor& tensor, const std::string& name, std::int64_t step) {
  if (!at::isfinite(tensor).all().item<bool>()) {
    throw DivergedError(
        fmt::format("step {}: '{}' is not finite; nothing was saved. Lower the learning rate, clip "
                    "(clip_norm) or add a penalty, and go on from the last checkpoint",
                    step, name));
  }
}

template <typename T>
std::span<const std::byte> bytes_of(const T* data, std::size_t count) {
  return std::as_bytes(std::span(data, count));
}

}  // namespace

std::vector<NetworkState::Place> StateFiles::share_of(const NetworkState& network, int worker,
                                                      int num_workers) {
  std::vector<NetworkState::Place> share;
  for (const NetworkState::Place& place : network.places()) {
    const auto owner = static_cast<int>(place.range.begin * static_cast<std::size_t>(num_workers) /
                                        network.layout().size());
    if (owner == worker) {
      share.push_back(place);
    }
  }
  return share;
}

void StateFiles::gather(NetworkState& network, int index) {
  const int num_workers = setup_.transport.num_workers();
  std::vector<comm::ElementRange> wanted;
  for (int worker = 0; worker < num_workers; ++worker) {
    wanted.push_back(span_of(share_of(network, worker, num_workers)));
  }
  int part = 0;
  for (const NamedArena& arena : arenas_of(network)) {
    if (arena.arena == &network.weights()) {
      continue;  // every worker has them whole
    }
    const comm::GatherRequest request{.network = index,
                                      .part = part++,
                                      .plan = &network.plan(),
                                      .arena = arena.arena,
                                      .wanted = wanted,
                                      .timeout = setup_.timeout};
    setup_.lane.wait(
        setup_.lane.submit([this, &request] { comm::gather_ranges(setup_.transport, request); }));
  }
}

checkpoint::FileReport StateFiles::save(const std::filesystem::path& directory, std::int64_t step) {
  const at::NoGradGuard no_grad;
  const int me = setup_.transport.worker();
  const int num_workers = setup_.transport.num_workers();
  std::deque<at::Tensor> kept;  // what the records look at
  std::vector<checkpoint::TensorRecord> records;
  for (std::size_t i = 0; i < setup_.networks.size(); ++i) {
    NetworkState& network = *setup_.networks[i];
    network.fetch();
    gather(network, static_cast<int>(i));
    const std::vector<NetworkState::Place> share = share_of(network, me, num_workers);
    for (const NamedArena& arena : arenas_of(network)) {
      for (const NetworkState::Place& place : share) {
        if (place.is_statistic && !arena.holds_statistics) {
          continue;
        }
        const at::Tensor& tensor =
            kept.emplace_back(NetworkState::view(arena.arena->data(), place).contiguous());
        require_finite(tensor, stored_name(arena, place), step);
        records.push_back(
            {stored_name(arena, place), checkpoint::ElementType::kF32, place.sizes,
             bytes_of(tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel()))});
      }
    }
    if (me == 0) {
      records.push_back({updates_name(network),
                         checkpoint::ElementType::kI64,
                         {1},
                         bytes_of(&network.updates, 1)});
    }
  }
  return checkpoint::write_worker_file(
      directory,
      {.step = step, .epoch = setup_.transport.epoch(), .worker = me, .num_workers = num_workers},
      records);
}

void StateFiles::load(const std::filesystem::path& checkpoint) {
  const at::NoGradGuard no_grad;
  const checkpoint::CheckpointReader reader(checkpoint);
  for (NetworkState* network : setup_.networks) {
    for (const NamedArena& arena : arenas_of(*network)) {
      for (const NetworkState::Place& place : network->places()) {
        if (place.is_statistic && !arena.holds_statistics) {
          continue;
        }
        const std::string name = stored_name(arena, place);
        if (arena.arena == network->average() && reader.find(name) == nullptr) {
          // The job keeps an average from here on: it begins with the weights, which come first.
          NetworkState::view(arena.arena->data(), place)
              .copy_(NetworkState::view(network->weights().data(), place));
          continue;
        }
        const checkpoint::TensorRecord& record = reader.require(name);
        if (record.type != checkpoint::ElementType::kF32 || record.shape != place.sizes) {
          throw CheckpointError(fmt::format(
              "{}: tensor '{}' has another shape or type than this job's; is it a checkpoint of "
              "another model?",
              checkpoint.string(), name));
        }
        at::Tensor values =
            at::empty(place.sizes, at::kFloat);  // copied: a file's bytes need not be aligned
        std::memcpy(values.mutable_data_ptr(), record.bytes.data(), record.bytes.size());
        NetworkState::view(arena.arena->data(), place).copy_(values);
      }
    }
    const checkpoint::TensorRecord& updates = reader.require(updates_name(*network));
    if (updates.type != checkpoint::ElementType::kI64 ||
        updates.bytes.size() != sizeof network->updates) {
      throw CheckpointError(fmt::format("{}: '{}' is not one integer; the checkpoint is damaged",
                                        checkpoint.string(), updates.name));
    }
    std::memcpy(&network->updates, updates.bytes.data(), sizeof network->updates);
    network->store();
  }
}

}  // namespace gangway::worker
