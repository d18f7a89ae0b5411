// SPDX-License-Identifier: MIT
// What each instruction of a schedule does to the two networks of a GAN. One small function an
// operation; the order is the schedule's. Compute thread.
#pragma once

#include <memory>
#include <vector>

#include "gan/build_networks.hpp"
#include "gan/penalty.hpp"
#include "pipeline/executor.hpp"
#include "worker/step/compute_device.hpp"
#include "worker/step/network_checks.hpp"
#include "worker/step/real_batches.hpp"
#include "worker/step/step_losses.hpp"

namespace gangway::worker {

class GanOperations final : public pipeline::Operations {
 public:
  struct Setup {
    const JobSpec& job;
    const std::vector<pipeline::Phase>& phases;
    PerNetwork<NetworkState*> networks;
    RealBatches& reals;
    const ExchangeSetup& exchange;  ///< of the two below; for the checks
    NetworkExchanges exchanges;
    PerNetwork<UpdateWatcher*> watchers = {};  ///< see all updates; null: nobody does
    at::Device device;
    MicrobatchRange local;
  };
  explicit GanOperations(Setup setup);

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
  /// What a pass over one micro-batch has computed so far.
  struct Pass {
    at::Tensor fake_graph;  // the generator's output with its graph, where it is trained
    at::Tensor fake;        // the same, detached: a leaf for the discriminator
    at::Tensor fake_labels;
    at::Tensor real_logits;
    at::Tensor fake_logits;
  };

  void forward(const pipeline::Instruction& at);
  void forward_generator(const pipeline::Instruction& at);
  void forward_discriminator(const pipeline::Instruction& at);
  void backward(const pipeline::Instruction& at);
  void backward_discriminator(const pipeline::Instruction& at);
  void backward_through_discriminator(const pipeline::Instruction& at);
  void penalty_forward(const pipeline::Instruction& at);
  void penalty_backward(const pipeline::Instruction& at);
  void open_exchange(const pipeline::Instruction& at);
  void await(NetworkId network);
  void begin_checks(const pipeline::Instruction& at, const UpdatePlan& plan);

  [[nodiscard]] pipeline::PassKind pass_kind(const pipeline::Instruction& at) const;
  [[nodiscard]] const pipeline::Phase& phase(const pipeline::Instruction& at) const;
  [[nodiscard]] const RealBatch& reals(const pipeline::Instruction& at);
  [[nodiscard]] RandomKey key(const pipeline::Instruction& at, RandomDraw draw) const;
  /// Training mode; the discriminator's two forwards of one pass have keys of their own.
  [[nodiscard]] gan::ForwardContext context(const pipeline::Instruction& at, gan::Harvest harvest,
                                            int sub_pass) const;
  [[nodiscard]] gan::NamedTensors discriminator_input(const at::Tensor& images,
                                                      const at::Tensor& labels) const;
  void add_discriminator_loss(const pipeline::Instruction& at, const at::Tensor& loss);
  [[nodiscard]] UpdatePlan update_plan(const pipeline::Instruction& at);

  const JobSpec& job_;
  const std::vector<pipeline::Phase>& phases_;
  PerNetwork<NetworkState*> networks_;
  RealBatches& reals_;
  at::Device device_;
  MicrobatchRange local_;
  PerNetwork<NetworkChecks> checks_;  // before the exchanges, which show them their updates
  NetworkExchanges exchanges_;
  Pass pass_;                                       // of the micro-batch in work
  std::unique_ptr<gan::BlockwisePenalty> penalty_;  // between its two instructions
  StepLosses losses_;
  std::int64_t step_ = 0;
  bool snapshot_follows_ = false;
  PerNetwork<std::int64_t> checked_step_{-1, -1};  // the last that was looked at
  double check_seconds_ = 0.0;
};

}  // namespace gangway::worker
