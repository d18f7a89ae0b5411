// SPDX-License-Identifier: MIT
#include "worker/step/network_checks.hpp"

namespace gangway::worker {

NetworkChecks::NetworkChecks(NetworkState& state, int network, const JobSpec& job,
                             const ExchangeSetup& exchange)
    : state_(state),
      lane_(exchange.lane),
      every_(job.layout.check_steps),
      replicas_(exchange.transport, {.network = network,
                                     .layout = &state.layout(),
                                     .weights = &state.weights(),
                                     .hosts = exchange.hosts,
                                     .timeout = exchange.timeout}),
      audit_(exchange.transport, state,
             {.network = network, .seed = job.training.seed, .timeout = exchange.timeout}) {
  compares_ = every_ > 0 && replicas_.is_needed();
  audits_ = every_ > 0 && job.layout.audit && audit_.is_needed();
}

NetworkChecks::~NetworkChecks() {
  if (is_connected_) {
    lane_.detach(audit_);
    lane_.detach(replicas_);
  }
}

void NetworkChecks::connect(NetworkSync& sync) {
  if (!compares_ && !audits_) {
    return;
  }
  lane_.attach(replicas_);
  lane_.attach(audit_);
  is_connected_ = true;
  if (audits_) {
    sync.show_updates_to(audit_);
  }
}

bool NetworkChecks::are_due(std::int64_t step) const {
  return (compares_ || audits_) && step % every_ == 0;
}

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
  if (!is_connected_) {
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
