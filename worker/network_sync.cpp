// SPDX-License-Identifier: MIT
#include "worker/network_sync.hpp"

#include <cmath>
#include <utility>

namespace gangway::worker {

NetworkSync::NetworkSync(NetworkState& state, int network, const Exchange& exchange)
    : state_(state),
      lane_(exchange.lane),
      partials_(state.layout().size(), exchange.num_microbatches),
      updater_(state),
      reducer_(exchange.transport, {.network = network,
                                    .layout = &state.layout(),
                                    .plan = &state.plan(),
                                    .weights = &state.weights(),
                                    .updater = &updater_,
                                    .ranges = exchange.ranges,
                                    .num_microbatches = exchange.num_microbatches,
                                    .timeout = exchange.timeout}) {}

void NetworkSync::open_leaf() { state_.bind_gradients(partials_.open_leaf()); }

void NetworkSync::close_leaf(int microbatch) { partials_.push(microbatch); }

void NetworkSync::reduce() {
  (void)lane_.submit([this] { reducer_.start(partials_.partials()); });
}

double NetworkSync::gradient_norm() {
  double squared_norm = 0.0;
  wait(lane_.submit([&] { squared_norm = reducer_.agree().squared_norm; }));
  return std::sqrt(squared_norm);
}

void NetworkSync::update(const NetworkUpdater::Plan& plan, float scale) {
  updater_.prepare(plan);
  wait(lane_.submit([this, scale] { reducer_.update(scale); }));
  partials_.clear();
}

double NetworkSync::take_exposed_seconds() { return std::exchange(exposed_seconds_, 0.0); }

void NetworkSync::wait(comm::Lane::Ticket ticket) {
  const auto begin = std::chrono::steady_clock::now();
  lane_.wait(ticket);
  exposed_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace gangway::worker
