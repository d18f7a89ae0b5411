// SPDX-License-Identifier: MIT
// Records the computing of a step once and then replays it: one graph launch replaces hundreds of
// kernel launches. Exchanges are never recorded: a step is cut where one begins or is awaited. So
// graphs hold no NCCL operations, and exchanges keep their order and failures.
//
// Each list of instructions has one recording. It is recorded in one step, which is then computed
// as usual. The next such step is computed both ways, and the sums of its gradients are compared
// bit by bit. This finds missing work, or a number of one step kept in the graph, before it reaches
// a weight. Any failure falls back to plain steps and prints a line.
//
// Gradients may travel while their graph still computes: the device signals when a bucket is
// complete, and the host opens the exchange before it launches the graph.
//
// Micro-batches only meet where their gradients are added. So some may be branches of a graph: each
// has its own leaf, and the additions follow in order.
//
// A step of the user's own (training.step) is also cut before each call, because LibTorch's
// generator is seeded for each call. A recording repeats the host state of its phases, and a
// missing wait of branches or exchanges may show late. So these steps are compared again from time
// to time, and a difference ends the training. Compute thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pipeline/executor.hpp"
#include "pipeline/recorded_list.hpp"
#include "worker/step/graph_recorder.hpp"
#include "worker/step/step_operations.hpp"

namespace gangway::worker {

/// Returns whether gradients agree. @param tolerance  norm of their difference over that of
/// `plain`; 0: every bit is equal. NaNs never agree.
[[nodiscard]] bool agree(const at::Tensor& plain, const at::Tensor& replayed, double tolerance);

struct StepGraphsSetup {
  std::unique_ptr<GraphRecorder> recorder;
  StepOperations& operations;
  RealBatches& reals;
  const Job& job;
  const Execution& execution;
  MicrobatchRange local;                             ///< this worker's micro-batches
  std::function<void(const std::string&)> say = {};  ///< a line for the user; null: dropped
};

class StepGraphs final : public pipeline::Operations {
 public:
  explicit StepGraphs(StepGraphsSetup setup);

  /// Performs a step that operations have begun.
  /// @param marked  marks instructions and passes them to perform()
  void run(const std::vector<pipeline::Instruction>& schedule, pipeline::Operations& marked);
  /// Replays a kPlay of the current list; StepOperations perform all other instructions.
  void perform(const pipeline::Instruction& instruction) override;
  /// Returns the list of the step that is being replayed. @pre run() performs a kPlay
  [[nodiscard]] const std::vector<pipeline::Instruction>& played() const {
    return played_->lowered.list;
  }

 private:
  using Stretch = std::vector<pipeline::Instruction>;
  /// The recording of a stretch.
  struct Recording {
    std::size_t graph = 0;
    std::vector<std::size_t> buckets = {};  ///< that it completes, if an exchange begins in it
  };
  /// A list of instructions and its recordings.
  struct Known {
    std::vector<pipeline::Instruction> schedule;
    pipeline::RecordedList lowered;
    std::vector<Recording> recordings;  // by stretch
    StepLosses losses;                  ///< where the graphs leave them
    int num_performed = 0;
    bool is_recorded = false;
    bool is_proven = false;
    bool was_played = false;  ///< alone
  };

  /// Returns the list's entry; null: there are too many lists.
  [[nodiscard]] Known* known_as(const std::vector<pipeline::Instruction>& schedule);
  void record(Known& known);
  /// Puts the work of a stretch on the device, to be recorded.
  void compute(const Stretch& stretch, Recording& recording);
  /// Performs a stretch, except that its exchange does not begin. Returns the completed buckets.
  std::vector<std::size_t> compute(const Stretch& stretch, pipeline::Operations& operations);
  void compute_side_by_side(const Stretch& stretch);
  /// Returns whether this step is compared again although it was proven.
  [[nodiscard]] bool is_proven_anew() const;
  /// Ends training, because steps replayed since the last comparison may have had wrong gradients.
  [[noreturn]] void end_training() const;
  void prove(Known& known, pipeline::Operations& marked);
  /// Replays the stretches `played` after a plain computation and compares the gradients; if they
  /// differ, restores the plain ones.
  [[nodiscard]] bool leave_the_same(const Known& known,
                                    std::span<const pipeline::Instruction> played);
  void replay(Known& known, pipeline::Operations& marked);
  void replay_graph(const Known& known, std::size_t stretch);
  /// Gives up branches or early exchanges for all lists or, if neither is in use, recording.
  void give_up(const std::string& why);

  [[nodiscard]] bool has_own_step() const { return setup_.operations.pass().own_step() != nullptr; }
  /// Seeds the call of the user's own step that the stretch begins with, if there is one.
  void seed_call(const Stretch& stretch) const;
  [[nodiscard]] RecordedExchange& exchange(const pipeline::Instruction& at) const {
    return *setup_.operations.exchange(at.network).recorded();
  }
  [[nodiscard]] StepLosses no_losses() const { return {setup_.local, setup_.job.networks.size()}; }

  StepGraphsSetup setup_;
  int branches_;   // micro-batches recorded side by side
  bool overlaps_;  // whether gradients travel while a graph computes
  std::deque<Known> known_;
  const Known* played_ = nullptr;  // the list that run() replays
  bool is_off_ = false;
};

}  // namespace gangway::worker
