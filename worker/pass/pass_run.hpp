// SPDX-License-Identifier: MIT
// Runs the graph of a pass over one micro-batch, forward and backward, application by application.
// The autograd graph is cut at each tensor that has a gradient: its users see a leaf, where their
// gradients add up in reverse order of the nodes. Compute thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gan/augment/augmentation.hpp"
#include "gan/library/library_losses.hpp"
#include "gan/losses/penalty.hpp"
#include "gan/network.hpp"
#include "job/blocks/progressive/growth.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"
#include "pipeline/phases.hpp"
#include "pipeline/schedule.hpp"
#include "python/open/python_step.hpp"
#include "worker/pass/pass_work.hpp"
#include "worker/pass/real_batches.hpp"
#include "worker/pass/remote_tensors.hpp"
#include "worker/pass/step_losses.hpp"
#include "worker/state/image_pools.hpp"
#include "worker/state/statistic_sinks.hpp"

namespace gangway::worker {

struct PassRunSetup {
  const Job& job;
  const std::vector<pipeline::Phase>& phases;
  PerNetwork<gan::Network*> networks;
  PerNetwork<gan::StatisticSink*> sinks;  ///< of the micro-batch with the open leaf
  RealBatches& reals;
  at::Device device;
  ImagePools* pools = nullptr;  ///< null: no pass asks for one
  /// Factor on a phase's losses and penalties before their backward. It keeps small fp16
  /// gradients from vanishing (Micikevicius et al., 2018, section 3.2). Gradients in the leaves
  /// carry this factor; the update divides by it. Called once or more in each pass of the phase,
  /// whose leaves are open; the value may change between the phase's repeats. Null: always 1.
  std::function<double()> loss_scale = nullptr;
  /// Set if networks are apart: this worker's share of the passes, and the exchange of tensors
  /// with other workers. Both null: this worker runs whole passes.
  const pipeline::PassShares* shares = nullptr;
  RemoteTensors* remote = nullptr;
};

class PassRun {
 public:
  /// @throws InvariantError if a phase names an unknown loss or penalty
  explicit PassRun(PassRunSetup setup);

  /// Begins a step and grows the networks to their size at its end.
  /// @param seed  of its random keys; nothing: the job's
  void begin_step(std::int64_t step, std::optional<std::uint64_t> seed = {});
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// Returns the job's own step; null: it has none.
  [[nodiscard]] python::PythonStep* own_step() { return own_step_.get(); }
  /// Seeds LibTorch's generator for the kForward call `at` in this step, also if the call was
  /// recorded in another step. @pre the job has a step of its own
  void seed_call(const pipeline::Instruction& at) const;
  /// Forwards to PassWorks.
  void keep_microbatches() { works_.keep_microbatches(); }
  /// Forgets all results of the step so far.
  void restart_step();
  /// Perform kForward and kBackward. Backward adds the pass's losses to `losses`.
  void forward(const pipeline::Instruction& at);
  void backward(const pipeline::Instruction& at, StepLosses& losses);
  /// Performs kRecompute: repeats a forward that kept nothing, before its backward.
  void recompute(const pipeline::Instruction& at, StepLosses& losses);
  void penalty_forward(const pipeline::Instruction& at);
  /// @param on_block  as BlockwisePenalty::backward
  void penalty_backward(const pipeline::Instruction& at, StepLosses& losses,
                        const std::function<void(std::size_t)>& on_block);
  /// Hands the statistics of early forwards to the network's leaf, after its last forward.
  void give_seen(const pipeline::Instruction& at) {
    works_.give_seen(at, *setup_.sinks[at.network]);
  }
  /// Perform the instructions of the same names.
  void send(const pipeline::Instruction& at);
  void receive(const pipeline::Instruction& at);
  void send_gradient(const pipeline::Instruction& at, StepLosses& losses);
  void receive_gradient(const pipeline::Instruction& at, StepLosses& losses);
  /// Returns the factor on all gradients of the current phase, including those of losses on
  /// weights; reported losses do not carry it.
  [[nodiscard]] double loss_scale() const { return setup_.loss_scale ? setup_.loss_scale() : 1.0; }

 private:
  /// Identifies a pass over a micro-batch in the step.
  struct PassKey {
    int phase = 0;
    int pass = 0;
    int microbatch = 0;
    auto operator<=>(const PassKey&) const = default;
  };
  /// A node's outputs, kept for a pass of a later phase.
  struct Kept {
    std::vector<at::Tensor> made;  // with their graph
    SeenStatistics seen;
  };

  [[nodiscard]] static PassKey key_of(const pipeline::Instruction& at);
  /// Makes the pass of `at` current.
  void enter(const pipeline::Instruction& at);
  /// Returns whether an earlier phase has run the current node.
  [[nodiscard]] bool is_recalled() const;
  /// Returns whether its kept outputs are here. In a share another worker may hold them, and nodes
  /// without randomness run again. @pre is_recalled()
  [[nodiscard]] bool has_kept() const {
    const pipeline::Recall& recall = *pass().recall;
    const auto kept = kept_.find({recall.phase, recall.pass, work_->at.microbatch});
    return work_->share == nullptr || std::holds_alternative<pipeline::Draw>(node()) ||
           (kept != kept_.end() && kept->second.contains(work_->node));
  }
  /// Returns whether a later phase recalls a user of the current, remote node's output.
  [[nodiscard]] bool is_taken_and_kept() const;
  /// Returns the kept outputs. @pre has_kept()
  [[nodiscard]] Kept take_kept();
  [[nodiscard]] Kept apply(const pipeline::Application& application, bool trains);
  /// Returns the batch for a method of the job's own step, by name.
  [[nodiscard]] gan::NamedTensors batch_of(const pipeline::Application& application);
  /// Calls the method and returns its loss of the micro-batch.
  [[nodiscard]] at::Tensor called(const pipeline::Application& application);
  /// Returns whether the node's activations are dropped until its backward, as the list says.
  [[nodiscard]] bool is_recomputed() const {
    return work_->node == work_->at.node && work_->at.is_recomputed;
  }
  /// Returns whether an application recomputes block by block. This saves memory if one micro-batch
  /// is in work; with pipeline stages each micro-batch would keep the tensors between blocks. Not
  /// for a network with statistics: the exchange may change them before the first blocks run again.
  /// A block's weights do not change until its own gradients are complete.
  [[nodiscard]] bool goes_by_block(const pipeline::Application& application) const {
    return work_->share == nullptr && is_recomputed() &&
           setup_.networks[application.network]->statistics().empty();
  }
  /// Runs the nodes before `end` that no instruction performs.
  void run_nodes_to(int end);
  /// Runs the backward of such nodes after `end`.
  void backward_nodes_to(int end, StepLosses& losses);
  /// Releases the pass's tensors if no backward is left.
  void end_if_over();
  void make(const pipeline::Draw& draw);
  void make(const pipeline::Reals& reals);
  /// Returns the real batch of the micro-batch that the step has taken last.
  [[nodiscard]] const RealBatch& last_reals();
  void make(const pipeline::Running& running);
  void make(const pipeline::StylePicture& picture);
  void make(const pipeline::Join& join);
  void make(const pipeline::Pool& pool);
  void make(const pipeline::Augment& augment);
  void make(const pipeline::Application&) {}  // by instruction, as penalties are
  void make(const pipeline::Penalty&) {}
  void make(const pipeline::Shown&) {}
  void make(const pipeline::Loss& loss);
  /// Runs the penalty's forward and returns its outputs, ordered by name.
  [[nodiscard]] std::vector<at::Tensor> carried_out(const pipeline::Penalty& penalty,
                                                    gan::StatisticSink* sink);
  /// Runs the penalty's backward from its outputs to its inputs.
  void pull(const pipeline::Penalty& penalty, const std::function<void(std::size_t)>& on_block);
  /// Returns the sink for statistics of `network` that the current node sees.
  [[nodiscard]] gan::StatisticSink& sink_of(NetworkId network, bool is_ahead);
  /// Run the current node's backward: gradients of its outputs go to its inputs, and to its weights
  /// if it trains some.
  void pull(const pipeline::Loss& loss, StepLosses& losses);
  void pull(bool trains);
  /// Runs the backward of an application that kept the tensors between its blocks.
  void pull(gan::BlockCheckpoints checkpoints);
  /// Run the backward in two parts: to the inputs, then to the weights.
  void pull_inputs();
  void pull_weights();
  /// Outputs of the current node that a loss depends on, with their graph, and their gradients.
  /// take_made() releases both in the pass.
  struct Pulled {
    std::vector<at::Tensor> made;
    std::vector<at::Tensor> gradients;
  };
  [[nodiscard]] Pulled take_made();
  /// Returns the weights that a method of the job's own step may give gradients to; its loss may
  /// depend on others too. Empty: everything that the outputs depend on.
  [[nodiscard]] std::vector<at::Tensor> trained_apart();
  /// Returns the current node's inputs that have a gradient.
  /// @param between_chunks  only those between two chunks; the whole network has no leaf there
  [[nodiscard]] std::vector<at::Tensor> taken_with_gradients(bool between_chunks = false);
  [[nodiscard]] bool is_between_chunks(const std::string& tensor) const;
  /// Stores the current node's outputs for its backward, and offers them to later nodes under
  /// `names`.
  void put(const std::string& name, const at::Tensor& made) { put({name}, Kept{{made}, {}}); }
  void put(const std::vector<std::string>& names, Kept result);

  [[nodiscard]] bool has_gradient() const;
  [[nodiscard]] const pipeline::Phase& phase() const;
  [[nodiscard]] const pipeline::Pass& pass() const { return *work_->pass; }
  [[nodiscard]] const pipeline::Node& node() const;
  /// Returns the precision of the current node: its network's, or fp32.
  [[nodiscard]] Precision precision() const;
  /// Returns the value of `schedule` in this step from `base`: float64 [] on the device. Every step
  /// writes its value there, so recorded work reads the current step's number.
  [[nodiscard]] at::Tensor number_of(double base, const ScheduleSpec& schedule);
  /// Returns the same value on the host.
  [[nodiscard]] double value_of(double base, const ScheduleSpec& schedule) const;
  [[nodiscard]] RandomKey key(const pipeline::Instruction& at, RandomDraw draw, int stream) const;
  [[nodiscard]] RandomKey key(RandomDraw draw, int stream) const {
    return key(work_->at, draw, stream);
  }
  /// Returns the context of an application of `network` that draws from `stream`, in the network's
  /// precision. @param sink  null: its statistics are not wanted
  [[nodiscard]] gan::ForwardContext context(const pipeline::Instruction& at, NetworkId network,
                                            gan::StatisticSink* sink, int stream) const;
  [[nodiscard]] gan::ForwardContext context(NetworkId network, gan::StatisticSink* sink,
                                            int stream) const {
    return context(work_->at, network, sink, stream);
  }
  /// Returns the same for a penalty, in its own precision.
  [[nodiscard]] gan::ForwardContext context_of(const pipeline::Penalty& penalty,
                                               gan::StatisticSink* sink) const;

  PassRunSetup setup_;
  std::map<std::string, gan::LossFunction> losses_;  // by its name in the recipe
  gan::Augmentation augmentation_;
  std::unique_ptr<python::PythonStep> own_step_;  // null: the job has none
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 0;
  double growth_ = kFullyGrown;  // of the networks, in this step
  PassWorks works_;
  PassWork* work_ = nullptr;                     // the current one
  std::map<PassKey, std::map<int, Kept>> kept_;  // by node
  at::Tensor style_;                             // [1, C, H, W]; undefined: the job has none
  at::Tensor labels_;                            // of the data, on a GPU that draws some of them
  struct Number {
    double base = 0.0;
    ScheduleSpec schedule;
    at::Tensor value;
  };
  std::vector<Number> numbers_;  // requested so far
};

}  // namespace gangway::worker
