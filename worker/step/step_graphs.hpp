// SPDX-License-Identifier: MIT
// Steps whose computing is recorded once and then played: a device is given one graph in the place
// of hundreds of launches. Exchanges are no part of a graph: a step is cut where one begins or is
// awaited, so that graphs have no operations of NCCL, and neither order nor failures of exchanges
// are others than without graphs.
//
// One list of instructions is one recording. It is made without being played, in a step that is
// then computed as ever; the next such step is computed both ways, and the sums of its gradients
// are compared bit by bit, so that a number of one step that a graph has kept, or work that it
// lacks, is found before it reaches a weight. Whatever goes wrong ends in plain steps and a line.
//
// Gradients may leave while the rest of their graph is computed: the device says where in it a
// bucket is complete, and the host opens the exchange before it launches the graph.
//
// Micro-batches meet where their gradients are added up, and nowhere else. So some of them may be
// branches of a graph: each has a leaf of its own, and the additions come behind, in their order.
//
// A step of the user's own (training.step) is cut before each call, too: LibTorch's generator is
// seeded for each. What its phases keep on the host, a recording repeats; and a wait that branches
// or exchanges lack may show late. So all are compared again from time to time, and what is found
// then ends the training. Compute thread.
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

/// Whether gradients are the same. @param tolerance  of the norm of their difference, over that of
/// `plain`; 0: every bit is equal. Numbers that are none never agree.
[[nodiscard]] bool agree(const at::Tensor& plain, const at::Tensor& played, double tolerance);

class StepGraphs {
 public:
  struct Setup {
    GraphRecorder& recorder;
    StepOperations& operations;
    const Job& job;
    const Execution& execution;
    MicrobatchRange local;                             ///< this worker's micro-batches
    std::function<void(const std::string&)> say = {};  ///< a line for the user; null: nobody hears
  };
  explicit StepGraphs(Setup setup);

  /// Performs a step that operations have begun. @param marked  the same operations, for what is no
  /// part of a graph
  void perform(const std::vector<pipeline::Instruction>& schedule, pipeline::Operations& marked);

 private:
  /// An exchange that begins while a graph is computed.
  struct Begun {
    pipeline::Instruction arm;
    std::vector<std::size_t> buckets = {};  ///< that the graph completes
  };
  /// Instructions of a step that follow one another.
  struct Part {
    std::vector<pipeline::Instruction> instructions;
    bool is_recorded = false;  ///< computing; else one of an exchange
    bool is_call = false;      ///< begins with one of a step of the user's own
    std::size_t graph = 0;
    std::optional<Begun> begun = {};
  };
  /// A list of instructions.
  struct Known {
    std::vector<pipeline::Instruction> schedule;
    std::vector<Part> parts;
    StepLosses losses;  ///< where the graphs leave them
    int num_performed = 0;
    bool is_recorded = false;
    bool is_proven = false;
    bool was_played = false;  ///< alone
  };

  /// Null: there are too many already.
  [[nodiscard]] Known* known_as(const std::vector<pipeline::Instruction>& schedule);
  [[nodiscard]] std::vector<Part> parts_of(
      const std::vector<pipeline::Instruction>& schedule) const;
  void record(Known& known);
  /// What of a part is put on the device while it is recorded.
  void compute(Part& part);
  /// Its instructions, of which none begins an exchange. Returns the buckets that are complete.
  std::vector<std::size_t> compute(const Part& part, pipeline::Operations& operations);
  /// Whether this step is compared again, though it was proven.
  [[nodiscard]] bool is_proven_anew() const;
  /// What was played since it was compared last may have left other gradients than plain steps.
  [[noreturn]] void end_training() const;
  /// Of a recorded part, what it computes.
  void play(const Part& part);
  /// The same, and what it completes travels.
  void play_and_send(const Part& part);
  void prove(Known& known, pipeline::Operations& marked);
  /// Networks whose gradients `parts` add up.
  [[nodiscard]] static std::set<NetworkId> summed_in(std::span<const Part> parts);
  /// Plays `parts`, which were computed just now, and compares the gradients that they leave; where
  /// they are others, those of the plain parts lie there again.
  [[nodiscard]] bool leave_the_same(std::span<const Part> parts);
  void play(Known& known, pipeline::Operations& marked);
  /// Of all lists: branches first, or gradients that leave early, and where there are none
  /// recordings.
  void give_up(const std::string& why);

  Setup setup_;
  int branches_;   // micro-batches that are recorded beside one another
  bool overlaps_;  // whether gradients leave while a graph is computed
  std::deque<Known> known_;
  bool is_off_ = false;
};

}  // namespace gangway::worker
