// SPDX-License-Identifier: MIT
// What each instruction of a schedule does: passes compute, exchanges carry what they leave. The
// order is the schedule's. Compute thread.
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

class StepOperations final : public pipeline::Operations {
 public:
  struct Setup {
    const Job& job;
    const RunOptions& options;
    const Execution& execution;
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
    /// Where networks are apart; as PassRun's.
    const pipeline::PassShares* shares = nullptr;
    RemoteTensors* remote = nullptr;
  };
  explicit StepOperations(Setup setup);

  /// Names the step of the instructions that follow, and whether a snapshot follows it.
  void begin_step(std::int64_t step, bool snapshot_follows = false);
  void perform(const pipeline::Instruction& instruction) override;

  /// Of the step that was performed. @pre it is over
  [[nodiscard]] StepLosses take_losses();

  // For steps that are recorded (worker/step/step_graphs.hpp).

  [[nodiscard]] std::int64_t step() const { return step_; }
  [[nodiscard]] std::uint64_t seed() const { return pass_.seed(); }
  [[nodiscard]] gan::PythonStep* own_step() { return pass_.own_step(); }
  /// As PassRun's.
  void seed_call(const pipeline::Instruction& at) const { pass_.seed_call(at); }
  /// The step's real examples, all of them, lie where passes look for them.
  void prepare_reals() { reals_.prepare(step_); }
  [[nodiscard]] at::Tensor gradient_sums(NetworkId network) {
    return exchanges_[network]->gradient_sums();
  }
  /// From now on micro-batches may be computed beside one another, `places` at a time.
  void prepare_beside(std::size_t places) {
    pass_.keep_microbatches();
    for (NetworkState* state : networks_) {
      state->prepare_leaves_beside(places);
    }
  }
  /// As perform(), of a micro-batch that others are computed beside: its leaves lie in memory of
  /// their own until take_in(). Of each place one micro-batch at a time.
  void perform_beside(const pipeline::Instruction& at, std::size_t place);
  /// What its leaf of a network has become in its place is the micro-batch's, and closed. In
  /// ascending order, as leaves are. @param at  the kCloseLeaf
  void take_in(const pipeline::Instruction& at, std::size_t place) {
    exchanges_[at.network]->open_leaf();
    networks_[at.network]->take_leaf_beside(place);
    exchanges_[at.network]->close_leaf(at.microbatch);
  }
  /// In the place of a kArm, where the backward that follows is recorded, or computed to be
  /// compared with a recording.
  void rehearse(const pipeline::Instruction& at) {
    settle_statistics(at);
    exchanges_[at.network]->rehearse();
  }
  /// Buckets that it has completed.
  [[nodiscard]] std::vector<std::size_t> rehearsed(const pipeline::Instruction& at) {
    return exchanges_[at.network]->rehearsed();
  }
  /// As the exchange's.
  [[nodiscard]] bool completes(const pipeline::Instruction& at,
                               const std::vector<std::size_t>& buckets,
                               const std::function<void()>& play) {
    return exchanges_[at.network]->completes(buckets, play);
  }
  /// Before a graph with that backward is played, and behind.
  void open_exchange(const pipeline::Instruction& at);
  void send_played(const pipeline::Instruction& at, const std::vector<std::size_t>& buckets) {
    exchanges_[at.network]->send_played(buckets);
  }
  /// Puts `losses` in the place of those of the step so far.
  StepLosses exchange_losses(StepLosses losses) {
    return std::exchange(losses_, std::move(losses));
  }
  [[nodiscard]] StepLosses no_losses() const { return {local_, networks_.size()}; }
  /// The step is over, and `losses` are where it has left its own, unless it has told them.
  void take_up(const StepLosses& losses);
  /// What was computed of the step is forgotten. @pre no exchange of it has begun
  void begin_again();

  /// Adds figures of updates that were over before this step's of their network began.
  void tell_updates(messages::Progress& progress);
  /// Whether histograms are made of the step that was performed.
  [[nodiscard]] bool has_histograms() const { return figure_steps_.has_histograms(step_); }
  /// Waits until no exchange is under way: the networks' states are those between two steps.
  void finish_exchanges();
  /// The same, and until no check is: the replicas' weights were compared. All workers call it.
  /// @throws InvariantError where they differ
  void settle();
  /// Of exchanges that were awaited, as far as it is known by now; each once.
  [[nodiscard]] std::vector<Exposure> take_exposures();
  /// Parameters that their phase left without a gradient, since the last call.
  [[nodiscard]] std::size_t take_unfired();
  /// Updates that were awaited and had been skipped, since the last call: the same on all workers.
  [[nodiscard]] std::vector<messages::SkippedUpdate> take_skips();

 private:
  /// What is in the micro-batch's leaf that no pass computes. @pre it was opened
  void begin_leaf(const pipeline::Instruction& at);
  void penalty_backward(const pipeline::Instruction& at);
  /// All forwards of the micro-batch are over.
  void settle_statistics(const pipeline::Instruction& at);
  void begin_checks(const pipeline::Instruction& at, const UpdatePlan& plan);
  void begin_record(const pipeline::Instruction& at, const UpdatePlan& plan);
  [[nodiscard]] const pipeline::Phase& phase(const pipeline::Instruction& at) const;
  [[nodiscard]] UpdatePlan update_plan(const pipeline::Instruction& at);
  [[nodiscard]] comm::Agreement agreement(const pipeline::Instruction& at);
  /// The losses of the phase at hand are multiplied by 2^this: the least of what its networks have.
  [[nodiscard]] std::int64_t loss_exponent(const pipeline::Instruction& at);
  /// That, of the repeat of a phase whose leaves were opened last.
  [[nodiscard]] double loss_scale() const;
  /// Until the network's new weights are everywhere; what they agreed on becomes its state.
  /// @throws DivergedError where too many updates in a row were skipped, or the norm of a gradient
  /// is above its bound
  void await(NetworkId network);
  /// What the workers agreed on in the update that was awaited last becomes the network's state.
  /// @throws as await(), which does it at once where nobody has to wait for a device
  void settle_update(NetworkId network);
  /// Of the update that was awaited last, of `step` (steps done). @throws DivergedError
  void require_bounded(NetworkId network, std::int64_t step) const;

  const Job& job_;
  const std::vector<pipeline::Phase>& phases_;
  PerNetwork<NetworkState*> networks_;
  RealBatches& reals_;
  MicrobatchRange local_;
  FigureSteps figure_steps_;
  // These outlive the exchanges, which show them updates.
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
  PerNetwork<std::int64_t> checked_step_;  // the last that was looked at
  /// An update that is not settled yet.
  struct UnderWay {
    UpdatePlan plan;
    std::int64_t step;
  };
  PerNetwork<std::optional<UnderWay>> under_way_;
  PerNetwork<std::int64_t> used_exponent_;  // of the loss, in the last update that was opened
  std::vector<messages::SkippedUpdate> skips_;
  /// A repeat of a phase in a step.
  struct ScaledPhase {
    std::int64_t step = -1;
    int phase = -1;
    int repeat = -1;
    bool operator==(const ScaledPhase&) const = default;
  };
  ScaledPhase scaled_;  // for which loss_exponent_ holds
  std::int64_t loss_exponent_ = 0;
};

}  // namespace gangway::worker
