// SPDX-License-Identifier: MIT
#include "worker/state/owned_state.hpp"

namespace gangway::worker {

std::string NamedArena::stored_name(const NetworkState::TensorPlace& place) const {
  return prefix + place.name.substr(place.name.find('/'));
}

std::vector<NamedArena> named_arenas(NetworkState& network) {
  const std::string& name = network.network().name();
  std::vector<NamedArena> arenas{{name, &network.weights(), true}};
  if (network.average() != nullptr) {
    arenas.push_back({name + "_ema", network.average(), true});
  }
  for (std::size_t i = 0; i < network.moments().size(); ++i) {
    const std::string_view moment = row_of(network.optimizer()).moments[i];
    arenas.push_back({name + "_optimizer/" + std::string(moment), &network.moments()[i], false});
  }
  return arenas;
}

std::vector<CountsPiece> counts_pieces(NetworkState& network, comm::UpdateCounts& counts) {
  std::vector<CountsPiece> pieces;
  const auto add = [&](const char* name, std::int64_t& value) {
    pieces.push_back({.stored = {.name = network.network().name() + "_optimizer/" + name,
                                 .type = checkpoint::ElementType::kI64,
                                 .shape = {1},
                                 .begin = 0,
                                 .end = 1},
                      .values = {&value, 1},
                      .is_of_loss_scale = &value != &counts.updates});
  };
  add("updates", counts.updates);
  if (network.has_loss_scale()) {
    add("skipped_updates", counts.skipped);
    add("loss_scale_exponent", counts.scale_exponent);
    add("updates_at_loss_scale", counts.unbroken);
    add("skipped_in_a_row", counts.in_a_row);
  }
  return pieces;
}

checkpoint::StoredOrder order_of(const NetworkState::TensorPlace& place) {
  std::int64_t stride = 1;
  for (std::size_t axis = place.sizes.size(); axis-- > 0;) {
    if (place.strides[axis] != stride) {
      return checkpoint::StoredOrder::kChannelsLast;
    }
    stride *= place.sizes[axis];
  }
  return checkpoint::StoredOrder::kRowMajor;
}

std::vector<OwnedPiece> owned_pieces(std::span<NetworkState* const> networks, int worker) {
  std::vector<OwnedPiece> pieces;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    NetworkState& network = *networks[i];
    for (const NamedArena& arena : named_arenas(network)) {
      for (const NetworkState::TensorPlace& place : network.places()) {
        if (place.is_statistic && !arena.holds_statistics) {
          continue;
        }
        for (std::size_t bucket = 0; bucket < network.plan().num_buckets(); ++bucket) {
          const comm::ElementRange own =
              comm::intersect(place.range, network.plan().slice(bucket, worker));
          if (!own.empty()) {
            pieces.push_back({.stored = {.name = arena.stored_name(place),
                                         .order = order_of(place),
                                         .shape = place.sizes,
                                         .begin = own.begin - place.range.begin,
                                         .end = own.end - place.range.begin},
                              .network = i,
                              .arena = arena.arena,
                              .range = own});
          }
        }
      }
    }
  }
  return pieces;
}

}  // namespace gangway::worker
