// SPDX-License-Identifier: MIT
// Performs the instructions of a schedule: passes compute, exchanges carry their gradients. The
// schedule sets the order. Compute thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "job/decisions.hpp"
#include "pipeline/executor.hpp"
#include "run/messages/messages.hpp"
#include "worker/figures/figure_steps.hpp"
#include "worker/figures/update_record.hpp"
#include "worker/pass/pass_run.hpp"
#include "worker/step/compute_device.hpp"
#include "worker/step/network_checks.hpp"

namespace gangway::worker {

struct StepOperationsSetup {
  const Job& job;
  const RunOptions& options;
  const Execution& execution;
  const std::vector<pipeline::Phase>& phases;
  PerNetwork<NetworkState*> networks;
  RealBatches& reals;
  const ExchangeSetup& exchange;  ///< setup of `exchanges`; for the checks
  NetworkExchanges exchanges;
  PerNetwork<UpdateWatcher*> watchers = {};  ///< see all updates; empty: none
  at::Device device;
  MicrobatchRange local;
  ImagePools* pools = nullptr;  ///< null: no pass asks for one
  /// Changes of settings that were decided; grows during training. Null: none.
  const std::vector<SettingsChange>* changes = nullptr;
  /// If networks are apart, as for PassRun.
  const pipeline::PassShares* shares = nullptr;
  RemoteTensors* remote = nullptr;
};

class StepOperations final : public pipeline::Operations {
 public:
  explicit StepOperations(StepOperationsSetup setup);

  /// Begins the step of the next instructions. @param snapshot_follows  take a snapshot after it
  void begin_step(std::int64_t step, bool snapshot_follows = false);
  void perform(const pipeline::Instruction& instruction) override;

  /// Returns the losses of the performed step. @pre the step is over
  [[nodiscard]] StepLosses take_losses();

  // For recorded steps (worker/step/step_graphs.hpp).

  [[nodiscard]] std::int64_t step() const { return step_; }
  [[nodiscard]] PassRun& pass() { return pass_; }
  [[nodiscard]] NetworkExchange& exchange(NetworkId network) { return *exchanges_[network]; }
  /// Returns the step's losses so far.
  [[nodiscard]] StepLosses& losses() { return losses_; }
  /// Finishes the statistics after the micro-batch's last forward.
  void settle_statistics(const pipeline::Instruction& at);
  /// Begins the exchange of the kArm or kReduce `at`.
  void open_exchange(const pipeline::Instruction& at);
  /// Prepares to compute micro-batches side by side, `places` at a time.
  void prepare_beside(std::size_t places);
  /// Like perform(), for a micro-batch computed beside others: its leaves have their own memory
  /// until take_in(). One micro-batch at a time in each place.
  void perform_beside(const pipeline::Instruction& at, std::size_t place);
  /// Copies the leaf of a network from `place` to the micro-batch's leaf and closes it. Called in
  /// ascending order, as for leaves. @param at  the kCloseLeaf
  void take_in(const pipeline::Instruction& at, std::size_t place);

  /// Adds figures of updates that ended before their network's update in this step began.
  void tell_updates(messages::Progress& progress);
  /// Returns whether histograms are made of the performed step.
  [[nodiscard]] bool has_histograms() const { return figure_steps_.has_histograms(step_); }
  /// Waits for all exchanges, so that the networks' states are those between two steps.
  void finish_exchanges();
  /// Waits for all exchanges and checks, and compares the replicas. All workers call it.
  /// @throws InvariantError if they differ
  void settle();
  /// Returns the exposures of awaited exchanges that are known by now; each once.
  [[nodiscard]] std::vector<Exposure> take_exposures();
  /// Returns the number of parameters without a gradient in their phase since the last call.
  [[nodiscard]] std::size_t take_unfired();
  /// Returns the skipped updates since the last call, of those awaited; the same on all workers.
  [[nodiscard]] std::vector<messages::SkippedUpdate> take_skips();

 private:
  /// Adds gradients that no pass computes to the micro-batch's leaf. @pre it was opened
  void begin_leaf(const pipeline::Instruction& at);
  /// Ends a backward of `at`'s phase.
  void add_kept_gradients(const pipeline::Instruction& at);
  void begin_checks(const pipeline::Instruction& at, const UpdatePlan& plan);
  void begin_record(const pipeline::Instruction& at, const UpdatePlan& plan);
  [[nodiscard]] const pipeline::Phase& phase(const pipeline::Instruction& at) const;
  [[nodiscard]] UpdatePlan update_plan(const pipeline::Instruction& at);
  [[nodiscard]] comm::Agreement agreement(const pipeline::Instruction& at);
  /// Returns the exponent of 2 that scales the current phase's losses: the least of its networks.
  [[nodiscard]] std::int64_t loss_exponent(const pipeline::Instruction& at);
  /// Returns the scale in the phase's repeat whose leaves were opened last.
  [[nodiscard]] double loss_scale() const;
  /// Waits until the network's new weights are on all workers, and settles the update.
  /// @throws DivergedError if too many updates in a row were skipped, or a gradient's norm is above
  /// its bound
  void await(NetworkId network);
  /// Stores the outcome of the last awaited update in the network's state. @throws as await(),
  /// which calls this itself if it need not wait for a device
  void settle_update(NetworkId network);
  /// Checks the norm of the last awaited update, of `step` (steps done). @throws DivergedError
  void require_bounded(NetworkId network, std::int64_t step) const;

  const Job& job_;
  const std::vector<pipeline::Phase>& phases_;
  PerNetwork<NetworkState*> networks_;
  RealBatches& reals_;
  MicrobatchRange local_;
  FigureSteps figure_steps_;
  // These outlive the exchanges, which show updates to them.
  PerNetwork<std::unique_ptr<UpdateRecord>> records_;
  PerNetwork<std::unique_ptr<NetworkChecks>> checks_;  // null: this worker does not hold it
  NetworkExchanges exchanges_;
  RemoteTensors* remote_;
  PassRun pass_;
  StepLosses losses_;
  const std::vector<SettingsChange>* changes_;
  StepSettings settings_;  // of the step
  std::int64_t step_ = 0;
  bool snapshot_follows_ = false;
  PerNetwork<std::int64_t> checked_step_;  // last checked step
  /// An awaited update that is not settled.
  struct UnderWay {
    UpdatePlan plan;
    std::int64_t step;
  };
  PerNetwork<std::optional<UnderWay>> under_way_;
  PerNetwork<std::int64_t> used_exponent_;  // of the loss, in the last opened update
  std::vector<messages::SkippedUpdate> skips_;
  /// Names a repeat of a phase in a step.
  struct ScaledPhase {
    std::int64_t step = -1;
    int phase = -1;
    int repeat = -1;
    bool operator==(const ScaledPhase&) const = default;
  };
  ScaledPhase scaled_;  // loss_exponent_ belongs to it
  std::int64_t loss_exponent_ = 0;
};

}  // namespace gangway::worker
