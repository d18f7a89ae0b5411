// SPDX-License-Identifier: MIT
#include "worker/state/load_from_checkpoint.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "checkpoint/format/stored_state.hpp"
#include "checkpoint/format/weights_file.hpp"
#include "comm/host/exchange_words.hpp"
#include "comm/reduce/range_gather.hpp"
#include "run/control_protocol.hpp"
#include "worker/state/owned_state.hpp"

namespace gangway::worker {
namespace {

/// Tag of the weights' all-gather; differs from the pictures'.
constexpr int kLoadPart = 33;

const checkpoint::StoredTensor& require(const checkpoint::StoredState& source,
                                        const std::string& name, checkpoint::ElementType type,
                                        const std::vector<std::int64_t>& shape) {
  const checkpoint::StoredTensor* tensor = source.find(name);
  if (tensor == nullptr) {
    throw CheckpointError(fmt::format(
        "{}: there is no tensor '{}'; was it saved with another optimiser, or without what the job "
        "has now? Give the job's old keys, or begin another run (--run)",
        source.path().string(), name));
  }
  if (tensor->type != type || tensor->shape != shape) {
    throw CheckpointError(
        fmt::format("{}: tensor '{}' has another shape or type than this job's; is it a checkpoint "
                    "of another model?",
                    source.path().string(), name));
  }
  return *tensor;
}

/// Reads [begin, end) of `tensor` in the arena's order, from any stored order.
void read_in_order(checkpoint::StoredState& source, const checkpoint::StoredTensor& tensor,
                   const checkpoint::TensorStretch& piece, std::span<float> out) {
  if (tensor.order == piece.order) {
    source.read_elements(tensor, piece.begin, piece.end, std::as_writable_bytes(out));
    return;
  }
  std::vector<float> row_major(tensor.num_elements());
  source.read_row_major(tensor, std::as_writable_bytes(std::span(row_major)));
  checkpoint::StoredTensor arena = tensor;
  arena.order = piece.order;
  for (std::uint64_t i = piece.begin; i < piece.end; ++i) {
    out[i - piece.begin] = row_major[checkpoint::row_major_index(arena, i)];
  }
}

void load_own(checkpoint::StoredState& source, NetworkState& network, const OwnedPiece& piece) {
  const checkpoint::TensorStretch& stored = piece.stored;
  std::string name = stored.name;
  if (piece.arena == network.average() && source.find(name) == nullptr) {
    // The checkpoint has no average: the average begins with the weights.
    name = network.network().name() + name.substr(name.find('/'));
  }
  read_in_order(source, require(source, name, stored.type, stored.shape), stored, piece.values());
}

/// Reports the progress of a load periodically.
class LoadProgress {
 public:
  LoadProgress(std::span<const OwnedPiece> pieces, const StateLoad& load) : load_(load) {
    for (const OwnedPiece& piece : pieces) {
      total_ += piece.stored.bytes();
    }
  }
  void add(std::size_t bytes) {
    bytes_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (load_.progress && now - reported_at_ >= std::chrono::seconds(1)) {
      reported_at_ = now;
      load_.progress(bytes_, total_);
    }
  }

 private:
  const StateLoad& load_;
  std::uint64_t bytes_ = 0;
  std::uint64_t total_ = 0;
  std::chrono::steady_clock::time_point reported_at_ = std::chrono::steady_clock::now();
};

}  // namespace

void load_initial_weights(const std::string& key, const std::filesystem::path& file,
                          NetworkState& network) {
  const checkpoint::InitialWeights weights(key, file);
  std::vector<checkpoint::WantedTensor> wanted;
  for (const NetworkState::TensorPlace& place : network.places()) {
    wanted.push_back({place.name, place.sizes});
  }
  weights.require(wanted);
  weights.require_finite();
  const at::NoGradGuard no_grad;
  for (const NetworkState::TensorPlace& place : network.places()) {
    if (checkpoint::is_of_a_training(place.name)) {
      continue;
    }
    const at::Tensor values = at::empty(place.sizes, at::kFloat);
    const std::span<const std::byte> bytes = weights.bytes(place.name);
    std::memcpy(values.mutable_data_ptr(), bytes.data(), bytes.size());
    NetworkState::view(network.weights().data(), place).copy_(values);
    if (network.average() != nullptr) {
      NetworkState::view(network.average()->data(), place).copy_(values);
    }
  }
  network.store();
}

std::vector<std::uint64_t> agree_on_load(std::uint64_t word, const StateLoad& load) {
  std::vector<std::uint64_t> words;
  load.lane.wait(load.lane.submit([&] {
    // Long deadline, because some workers read more; the lifeline reports a dead worker.
    words = comm::exchange_words(load.transport, word, "the start of loading",
                                 kTimeoutsToWrite * load.timeout);
  }));
  return words;
}

LoadOutcome load_checkpoint(const std::filesystem::path& checkpoint, const StateLoad& load) {
  try {
    checkpoint::StoredState source(checkpoint);
    std::vector<OwnedPiece> pieces = owned_pieces(load.networks, load.transport.worker());
    // In the order of the files, so that no chunk is read twice.
    std::ranges::stable_sort(pieces, {}, [](const OwnedPiece& one) { return one.stored.name; });
    LoadProgress progress(pieces, load);
    for (const OwnedPiece& piece : pieces) {
      load_own(source, *load.networks[piece.network], piece);
      progress.add(piece.stored.bytes());
    }
    for (NetworkState* network : load.networks) {
      network->counts = network->first_counts();
      for (const CountsPiece& piece : counts_pieces(*network, network->counts)) {
        if (piece.is_of_loss_scale && source.find(piece.stored.name) == nullptr) {
          continue;  // not in fp16 when saved: the scale begins anew
        }
        source.read_elements(
            require(source, piece.stored.name, piece.stored.type, piece.stored.shape), 0, 1,
            std::as_writable_bytes(piece.values));
      }
    }
    return {};
  } catch (const CheckpointError& error) {
    return {.is_whole = false, .failure = messages::Unloadable{.reason = error.what()}};
  }
}

void share_weights(const StateLoad& load) {
  const int num_workers = load.transport.num_workers();
  for (std::size_t i = 0; i < load.networks.size(); ++i) {
    NetworkState& network = *load.networks[i];
    if (network.is_apart()) {
      continue;
    }
    const comm::GatherRequest request{
        .network = static_cast<int>(i),
        .part = kLoadPart,
        .plan = &network.plan(),
        .arena = &network.weights(),
        .wanted = std::vector<comm::ElementRange>(static_cast<std::size_t>(num_workers),
                                                  {0, network.layout().size()}),
        .timeout = load.timeout};
    load.lane.wait(load.lane.submit([&] { comm::gather_ranges(load.transport, request); }));
    network.store();
  }
}

}  // namespace gangway::worker
