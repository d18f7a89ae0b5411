// SPDX-License-Identifier: MIT
#include "worker/step/network_checks.hpp"

namespace gangway::worker {

NetworkChecks::NetworkChecks(NetworkState& state, NetworkId network, std::uint64_t seed,
                             const Execution& how, const ExchangeSetup& setup,
                             NetworkExchange& exchange)
    : state_(state),
      lane_(setup.lane),
      every_(how.check_steps),
      replicas_(setup.transport, {.network = static_cast<int>(network),
                                  .layout = &state.layout(),
                                  .weights = &state.weights(),
                                  .hosts = setup.hosts,
                                  .timeout = setup.timeout,
                                  .parts = state.parts()}),
      audit_(setup.transport, state,
             {.network = static_cast<int>(network),
              .seed = seed,
              .timeout = setup.timeout,
              .update = [&exchange](const UpdatePlan& plan, const comm::ArenaLayout& layout,
                                    const UpdateSlice& slice) {
                exchange.recompute(plan, layout, slice);
              }}) {
  compares_ = every_ > 0 && replicas_.is_needed();
  audits_ = every_ > 0 && how.audit && audit_.is_needed();
  if (is_needed()) {
    lane_.attach(replicas_);
    lane_.attach(audit_);
  }
  if (audits_) {
    exchange.show_updates_to(audit_);
  }
}

NetworkChecks::~NetworkChecks() {
  if (is_needed()) {
    lane_.detach(audit_);
    lane_.detach(replicas_);
  }
}

bool NetworkChecks::are_due(std::int64_t step) const { return is_needed() && step % every_ == 0; }

void NetworkChecks::wait() {
  lane_.wait(replicas_);
  lane_.wait(audit_);
}

void NetworkChecks::begin(std::int64_t step, const UpdatePlan& plan) {
  wait();
  if (audits_) {
    audit_.begin(step, plan);
  }
  if (compares_) {
    state_.fetch_weights();
    replicas_.begin(step);
    lane_.wake();
  }
}

void NetworkChecks::finish(std::int64_t step) {
  if (!is_needed()) {
    return;
  }
  wait();
  if (compares_) {
    state_.fetch_weights();
    replicas_.begin(step);
    wait();
  }
}

}  // namespace gangway::worker
