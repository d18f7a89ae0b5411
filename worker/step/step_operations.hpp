// SPDX-License-Identifier: MIT
// What each instruction of a schedule does: passes compute, exchanges carry what they leave. The
// order is the schedule's. Compute thread.
#pragma once

#include <memory>
#include <vector>

#include "job/decisions.hpp"
#include "pipeline/executor.hpp"
#include "worker/step/compute_device.hpp"
#include "worker/step/network_checks.hpp"
#include "worker/step/pass_run.hpp"

namespace gangway::worker {

class StepOperations final : public pipeline::Operations {
 public:
  struct Setup {
    const JobSpec& job;
    const std::vector<pipeline::Phase>& phases;
    PerNetwork<NetworkState*> networks;
    RealBatches& reals;
    const ExchangeSetup& exchange;  ///< of those below; for the checks
    NetworkExchanges exchanges;
    PerNetwork<UpdateWatcher*> watchers = {};  ///< see all updates; empty: nobody does
    at::Device device;
    MicrobatchRange local;
    ImagePools* pools = nullptr;  ///< null: no pass asks for one
    /// Of decisions; grows while training goes on. Null: there are none.
    const std::vector<SettingsChange>* changes = nullptr;
  };
  explicit StepOperations(Setup setup);

  /// Names the step of the instructions that follow, and whether a snapshot follows it.
  void begin_step(std::int64_t step, bool snapshot_follows = false);
  void perform(const pipeline::Instruction& instruction) override;

  /// Of the step that was performed. @pre it is over
  [[nodiscard]] StepLosses take_losses();
  /// Waits until no exchange is under way: the networks' states are those between two steps.
  void finish_exchanges();
  /// The same, and until no check is: the replicas' weights were compared. All workers call it.
  /// @throws InvariantError where they differ
  void settle();
  /// Of exchanges that were awaited, as far as it is known by now; each once.
  [[nodiscard]] std::vector<Exposure> take_exposures();
  /// For how long this thread waited in exchanges, since the last call.
  [[nodiscard]] double take_host_wait_seconds();
  /// Parameters that their phase left without a gradient, since the last call.
  [[nodiscard]] std::size_t take_unfired();
  /// What the checks of the steps since the last call took of this thread.
  [[nodiscard]] double take_check_seconds();

 private:
  /// The micro-batch's leaf, with what is in it that no pass computes.
  void open_leaf(const pipeline::Instruction& at);
  void penalty_backward(const pipeline::Instruction& at);
  /// All forwards of the micro-batch are over.
  void settle_statistics(const pipeline::Instruction& at);
  void open_exchange(const pipeline::Instruction& at);
  void begin_checks(const pipeline::Instruction& at, const UpdatePlan& plan);
  [[nodiscard]] const pipeline::Phase& phase(const pipeline::Instruction& at) const;
  [[nodiscard]] UpdatePlan update_plan(const pipeline::Instruction& at);

  const JobSpec& job_;
  const std::vector<pipeline::Phase>& phases_;
  PerNetwork<NetworkState*> networks_;
  MicrobatchRange local_;
  PerNetwork<std::unique_ptr<NetworkChecks>> checks_;  // outlive the exchanges, which show updates
  NetworkExchanges exchanges_;
  PassRun pass_;
  StepLosses losses_;
  const std::vector<SettingsChange>* changes_;
  StepSettings settings_;  // of the step
  std::int64_t step_ = 0;
  bool snapshot_follows_ = false;
  PerNetwork<std::int64_t> checked_step_;  // the last that was looked at
  double check_seconds_ = 0.0;
};

}  // namespace gangway::worker
