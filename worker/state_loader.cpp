// SPDX-License-Identifier: MIT
#include "worker/state_loader.hpp"

#include <cstring>

#include <fmt/format.h>

#include "checkpoint/weights_file.hpp"
#include "comm/exchange_words.hpp"
#include "comm/range_gather.hpp"
#include "job/errors.hpp"
#include "worker/owned_state.hpp"

namespace gangway::worker {
namespace {

/// Tag of the weights' gather, apart from the pictures'.
constexpr int kLoadPart = 33;

const checkpoint::StoredTensor& require(const StateSource& source, const std::string& name,
                                        checkpoint::ElementType type,
                                        const std::vector<std::int64_t>& shape) {
  const checkpoint::StoredTensor* tensor = source.find(name);
  if (tensor == nullptr) {
    throw CheckpointError(fmt::format("{}: there is no tensor '{}'", source.name(), name));
  }
  if (tensor->type != type || tensor->shape != shape) {
    throw CheckpointError(
        fmt::format("{}: tensor '{}' has another shape or type than this job's; is it a checkpoint "
                    "of another model?",
                    source.name(), name));
  }
  return *tensor;
}

/// Reads [begin, end) of `tensor` in the arena's order, whatever order it is stored in.
void read_in_order(StateSource& source, const checkpoint::StoredTensor& tensor,
                   const checkpoint::SnapshotPiece& piece, std::span<float> out) {
  if (tensor.order == piece.order) {
    source.read(tensor, piece.begin, piece.end, std::as_writable_bytes(out));
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

void load_own(StateSource& source, NetworkState& network, const OwnedPiece& piece) {
  const checkpoint::SnapshotPiece& stored = piece.stored;
  std::string name = stored.name;
  if (piece.arena == network.average() && source.find(name) == nullptr) {
    // The job keeps an average from here on: it begins with the weights.
    name = network.network().name() + name.substr(name.find('/'));
  }
  read_in_order(source, require(source, name, stored.type, stored.shape), stored, piece.values());
}

/// The weights may be memory that the workers of a host share: nobody may still be putting initial
/// values there.
void wait_for_all(const StateLoad& load) {
  load.lane.wait(load.lane.submit([&] {
    (void)comm::exchange_words(load.transport, 0, "the start of loading", load.timeout);
  }));
}

}  // namespace

void load_initial_weights(const std::string& key, const std::filesystem::path& file,
                          NetworkState& network, const StateLoad& load) {
  const checkpoint::InitialWeights weights(key, file);
  std::vector<checkpoint::WantedTensor> wanted;
  for (const NetworkState::Place& place : network.places()) {
    wanted.push_back({place.name, place.sizes});
  }
  weights.require(wanted);
  wait_for_all(load);
  const at::NoGradGuard no_grad;
  for (const NetworkState::Place& place : network.places()) {
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

void load_state(StateSource& source, const StateLoad& load) {
  const int num_workers = load.transport.num_workers();
  wait_for_all(load);
  for (const OwnedPiece& piece : owned_pieces(load.networks, load.transport.worker())) {
    load_own(source, *load.networks[piece.network], piece);
  }
  for (std::size_t i = 0; i < load.networks.size(); ++i) {
    NetworkState& network = *load.networks[i];
    const comm::GatherRequest request{
        .network = static_cast<int>(i),
        .part = kLoadPart,
        .plan = &network.plan(),
        .arena = &network.weights(),
        .wanted = std::vector<comm::ElementRange>(static_cast<std::size_t>(num_workers),
                                                  {0, network.layout().size()}),
        .timeout = load.timeout};
    load.lane.wait(load.lane.submit([&] { comm::gather_ranges(load.transport, request); }));
    const auto& updates =
        require(source, updates_name(network), checkpoint::ElementType::kI64, {1});
    source.read(updates, 0, 1, std::as_writable_bytes(std::span(&network.updates, 1)));
    network.store();
  }
}

}  // namespace gangway::worker
