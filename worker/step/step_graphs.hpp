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
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "pipeline/executor.hpp"
#include "worker/step/graph_recorder.hpp"
#include "worker/step/step_operations.hpp"

namespace gangway::worker {

/// Returns whether gradients agree. @param tolerance  norm of their difference over that of
/// `plain`; 0: every bit is equal. NaNs never agree.
[[nodiscard]] bool agree(const at::Tensor& plain, const at::Tensor& replayed, double tolerance);

struct StepGraphsSetup {
  GraphRecorder& recorder;
  StepOperations& operations;
  const Job& job;
  const Execution& execution;
  MicrobatchRange local;                             ///< this worker's micro-batches
  std::function<void(const std::string&)> say = {};  ///< a line for the user; null: dropped
};

class StepGraphs {
 public:
  explicit StepGraphs(StepGraphsSetup setup);

  /// Performs a step that operations have begun. @param marked  the same operations, for the
  /// instructions outside of graphs
  void perform(const std::vector<pipeline::Instruction>& schedule, pipeline::Operations& marked);

 private:
  /// An exchange that begins while a graph computes.
  struct Begun {
    pipeline::Instruction arm;
    std::vector<std::size_t> buckets = {};  ///< completed by the graph
  };
  /// Consecutive instructions of a step.
  struct Part {
    std::vector<pipeline::Instruction> instructions;
    bool is_recorded = false;  ///< computing; else part of an exchange
    bool is_call = false;      ///< begins with a call of the user's own step
    std::size_t graph = 0;
    std::optional<Begun> begun = {};
  };
  /// A list of instructions and its recording.
  struct Known {
    std::vector<pipeline::Instruction> schedule;
    std::vector<Part> parts;
    StepLosses losses;  ///< where the graphs leave them
    int num_performed = 0;
    bool is_recorded = false;
    bool is_proven = false;
    bool was_played = false;  ///< alone
  };

  /// Returns the list's entry; null: there are too many lists.
  [[nodiscard]] Known* known_as(const std::vector<pipeline::Instruction>& schedule);
  [[nodiscard]] std::vector<Part> parts_of(
      const std::vector<pipeline::Instruction>& schedule) const;
  void record(Known& known);
  /// Puts the recorded work of a part on the device.
  void compute(Part& part);
  /// Performs its instructions, none of which begins an exchange. Returns the completed buckets.
  std::vector<std::size_t> compute(const Part& part, pipeline::Operations& operations);
  /// Returns whether this step is compared again although it was proven.
  [[nodiscard]] bool is_proven_anew() const;
  /// Ends training, because steps replayed since the last comparison may have had wrong gradients.
  [[noreturn]] void end_training() const;
  /// Plays the graph of a recorded part.
  void replay(const Part& part);
  /// Plays the graph; the buckets that it completes travel.
  void play_and_send(const Part& part);
  void prove(Known& known, pipeline::Operations& marked);
  /// Returns the networks whose gradients `parts` add up.
  [[nodiscard]] static std::set<NetworkId> summed_in(std::span<const Part> parts);
  /// Plays `parts` after a plain computation and compares the gradients; if they differ, restores
  /// the plain ones.
  [[nodiscard]] bool leave_the_same(std::span<const Part> parts);
  void replay(Known& known, pipeline::Operations& marked);
  /// Gives up branches or early exchanges for all lists or, if neither is in use, recording.
  void give_up(const std::string& why);

  StepGraphsSetup setup_;
  int branches_;   // micro-batches recorded side by side
  bool overlaps_;  // whether gradients travel while a graph computes
  std::deque<Known> known_;
  bool is_off_ = false;
};

}  // namespace gangway::worker
