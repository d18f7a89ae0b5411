// SPDX-License-Identifier: MIT
// Carries out the graph of a pass over one micro-batch, forward and backward, application by
// application. Each tensor that has a gradient is cut where it is made: what takes it sees a leaf,
// in which the gradients of all that take it add up, in the opposite order of the nodes. Compute
// thread.
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
#include "gan/python/python_step.hpp"
#include "job/blocks/progressive/growth.hpp"
#include "job/models/network_id.hpp"
#include "job/spec.hpp"
#include "pipeline/phases.hpp"
#include "pipeline/schedule.hpp"
#include "worker/pass/pass_work.hpp"
#include "worker/pass/real_batches.hpp"
#include "worker/pass/remote_tensors.hpp"
#include "worker/pass/step_losses.hpp"
#include "worker/state/image_pools.hpp"
#include "worker/state/statistic_sinks.hpp"

namespace gangway::worker {

class PassRun {
 public:
  struct Setup {
    const Job& job;
    bool recomputes = false;  ///< layout.recompute
    const std::vector<pipeline::Phase>& phases;
    PerNetwork<gan::Network*> networks;
    PerNetwork<gan::StatisticSink*> sinks;  ///< of the micro-batch whose leaf is open
    RealBatches& reals;
    at::Device device;
    ImagePools* pools = nullptr;  ///< null: no pass asks for one
    /// What the losses and penalties of a phase are multiplied by before their backward, so that
    /// small gradients do not vanish in fp16 (Micikevicius et al., 2018, section 3.2): those in the
    /// leaves are as many times too large, and whoever asked for it divides them again. Asked once
    /// or more in each pass of the phase, whose leaves are open; it may change between its repeats.
    /// Null: 1, ever.
    std::function<double()> loss_scale = nullptr;
    /// Where networks are apart, what of passes is this worker's, and who carries tensors to and
    /// from the others; both null: all of it is.
    const pipeline::PassShares* shares = nullptr;
    RemoteTensors* remote = nullptr;
  };
  /// @throws InvariantError where a phase asks for a loss or a penalty that nobody knows
  explicit PassRun(Setup setup);

  /// Names the step of what follows, in which the networks are as far grown as behind it.
  /// @param seed  of its random keys; nothing: the job's
  void begin_step(std::int64_t step, std::optional<std::uint64_t> seed = {});
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  /// The job's own step; null: it has none.
  [[nodiscard]] gan::PythonStep* own_step() { return own_step_.get(); }
  /// What the call of a kForward draws by LibTorch's generator is from now on what it draws in this
  /// step, also where the call was recorded in another one. @pre the job has a step of its own
  void seed_call(const pipeline::Instruction& at) const;
  /// As PassWorks'.
  void keep_microbatches() { works_.keep_microbatches(); }
  /// Forgets what was carried out of the step.
  void begin_again();
  /// What instructions kForward and kBackward ask for. Backward adds the pass's losses to `losses`.
  void forward(const pipeline::Instruction& at);
  void backward(const pipeline::Instruction& at, StepLosses& losses);
  /// What kRecompute asks for: the forward of the backward behind it, which kept nothing.
  void recompute(const pipeline::Instruction& at, StepLosses& losses);
  void penalty_forward(const pipeline::Instruction& at);
  /// @param on_block  as BlockwisePenalty::backward
  void penalty_backward(const pipeline::Instruction& at, StepLosses& losses,
                        const std::function<void(std::size_t)>& on_block);
  /// All forwards of the network's leaf are over: hands it what those ahead of it have seen.
  void give_seen(const pipeline::Instruction& at) {
    works_.give_seen(at, *setup_.sinks[at.network]);
  }
  /// What instructions of the same names ask for.
  void send(const pipeline::Instruction& at);
  void receive(const pipeline::Instruction& at);
  void send_gradient(const pipeline::Instruction& at, StepLosses& losses);
  void receive_gradient(const pipeline::Instruction& at, StepLosses& losses);
  /// The factor in all gradients of the phase at hand, those of losses on weights included; what is
  /// shown of a loss has none.
  [[nodiscard]] double loss_scale() const { return setup_.loss_scale ? setup_.loss_scale() : 1.0; }

 private:
  /// A pass in the step.
  struct Place {
    int phase = 0;
    int pass = 0;
    int microbatch = 0;
    auto operator<=>(const Place&) const = default;
  };
  /// What a node has made for a pass of a later phase.
  struct Kept {
    std::vector<at::Tensor> made;  // with their graph
    SeenStatistics seen;
  };

  [[nodiscard]] static Place place_of(const pipeline::Instruction& at);
  /// What `at` is about is at hand.
  void enter(const pipeline::Instruction& at);
  /// Whether the node at hand is one that an earlier phase has carried out.
  [[nodiscard]] bool is_recalled() const;
  /// Whether what it made is here: of a share another worker may have it, and what looks at nothing
  /// random is made again. @pre it is
  [[nodiscard]] bool has_kept() const {
    const pipeline::Recall& recall = *pass().recall;
    const auto kept = kept_.find({recall.phase, recall.pass, work_->at.microbatch});
    return work_->share == nullptr || std::holds_alternative<pipeline::Draw>(node()) ||
           (kept != kept_.end() && kept->second.contains(work_->node));
  }
  /// Whether what the node at hand made elsewhere is taken here by what a later phase recalls.
  [[nodiscard]] bool is_taken_and_kept() const;
  /// What that made. @pre it is
  [[nodiscard]] Kept take_kept();
  [[nodiscard]] Kept apply(const pipeline::Application& application, bool trains);
  /// What a method of the job's own step gets, by name.
  [[nodiscard]] gan::NamedTensors batch_of(const pipeline::Application& application);
  /// The loss that it makes of the micro-batch.
  [[nodiscard]] at::Tensor called(const pipeline::Application& application);
  /// Whether what the node at hand made inside is not kept until its backward (layout.recompute).
  [[nodiscard]] bool is_recomputed() const;
  /// Whether that is done block by block: where one micro-batch is in work, what flows between
  /// blocks is little, while of stages each micro-batch would keep it. Not of a network with
  /// statistics: new ones come once its last backward has begun, before its first blocks are made
  /// again. A block's weights stay until its own gradients are complete.
  [[nodiscard]] bool goes_by_block(const pipeline::Application& application) const {
    return work_->share == nullptr && is_recomputed() &&
           setup_.networks[application.network]->statistics().empty();
  }
  /// Carries out the nodes before `end` that are no instruction's.
  void come_to(int end);
  /// The same of their backward, for those behind `end`.
  void come_back_to(int end, StepLosses& losses);
  /// Lets go of the pass's tensors, if no backward is left.
  void end_if_over();
  void make(const pipeline::Draw& draw);
  void make(const pipeline::Reals& reals);
  /// Those of the micro-batch that the step has taken last.
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
  /// What its forward makes, in the order of their names.
  [[nodiscard]] std::vector<at::Tensor> carried_out(const pipeline::Penalty& penalty,
                                                    gan::StatisticSink* sink);
  /// Its backward: gradients of what it made go to what it took.
  void pull(const pipeline::Penalty& penalty, const std::function<void(std::size_t)>& on_block);
  /// Who takes what the node at hand sees of `network`'s statistics.
  [[nodiscard]] gan::StatisticSink& sink_of(NetworkId network, bool is_ahead);
  /// The gradient of what the node at hand made goes to what it took; to its weights where it
  /// trains some.
  void pull(const pipeline::Loss& loss, StepLosses& losses);
  void pull(bool trains);
  /// The same of an application that has kept what flows between its blocks.
  void pull(gan::BlockCheckpoints checkpoints);
  /// The same in two goes: to what it took, and to its weights.
  void pull_inputs();
  void pull_weights();
  /// Of the node at hand: those of its outputs that a loss depends on, with their graph, and their
  /// gradients; lets go of both.
  struct Pulled {
    std::vector<at::Tensor> made;
    std::vector<at::Tensor> gradients;
  };
  [[nodiscard]] Pulled take_made();
  /// The weights that a method of the job's own step may give gradients to: it looks at others,
  /// too. Empty: all that what it made depends on.
  [[nodiscard]] std::vector<at::Tensor> trained_apart();
  /// What it took that has a gradient.
  [[nodiscard]] std::vector<at::Tensor> taken_with_gradients();
  /// Those of them that flow from one chunk of a network into the next: no leaves of the whole
  /// network.
  [[nodiscard]] std::vector<at::Tensor> taken_between_chunks();
  [[nodiscard]] bool is_between_chunks(const std::string& tensor) const;
  /// Of the node at hand: keeps what it made for its backward, and gives that to the nodes behind
  /// it by `names`.
  void put(const std::string& name, const at::Tensor& made) { put({name}, Kept{{made}, {}}); }
  void put(const std::vector<std::string>& names, Kept result);

  [[nodiscard]] bool has_gradient() const;
  [[nodiscard]] const pipeline::Phase& phase() const;
  [[nodiscard]] const pipeline::Pass& pass() const;
  [[nodiscard]] const pipeline::Node& node() const;
  /// That the node at hand computes in: a network's, or fp32.
  [[nodiscard]] Precision precision() const;
  /// What begins with `base`, in this step: float64 [] on the device, where each step puts its own.
  /// So work that is recorded in one step finds the number of the step that it is done in.
  [[nodiscard]] at::Tensor number_of(double base, const ScheduleSpec& schedule);
  /// The same, on the host.
  [[nodiscard]] double value_of(double base, const ScheduleSpec& schedule) const;
  [[nodiscard]] RandomKey key(const pipeline::Instruction& at, RandomDraw draw, int stream) const;
  [[nodiscard]] RandomKey key(RandomDraw draw, int stream) const {
    return key(work_->at, draw, stream);
  }
  /// Of an application of `network` that draws from `stream`, in the network's precision. @param
  /// sink  null: what it sees is not wanted
  [[nodiscard]] gan::ForwardContext context(const pipeline::Instruction& at, NetworkId network,
                                            gan::StatisticSink* sink, int stream) const;
  [[nodiscard]] gan::ForwardContext context(NetworkId network, gan::StatisticSink* sink,
                                            int stream) const {
    return context(work_->at, network, sink, stream);
  }

  Setup setup_;
  std::map<std::string, gan::LossFunction> losses_;  // by the name that the recipe has for it
  gan::Augmentation augmentation_;
  std::unique_ptr<gan::PythonStep> own_step_;  // null: the job has none
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 0;
  double growth_ = kFullyGrown;  // of the networks, in this step
  PassWorks works_;
  PassWork* work_ = nullptr;                   // that is at hand
  std::map<Place, std::map<int, Kept>> kept_;  // by node
  at::Tensor style_;                           // [1, C, H, W]; undefined: the job has none
  at::Tensor labels_;                          // of the data, on a GPU that draws some of them
  struct Number {
    double base = 0.0;
    ScheduleSpec schedule;
    at::Tensor value;
  };
  std::vector<Number> numbers_;  // that were asked for
};

}  // namespace gangway::worker
