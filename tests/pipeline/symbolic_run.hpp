// SPDX-License-Identifier: MIT
// Runs lists of instructions on symbols in the place of tensors: each stands for what it was
// computed of, so that two runs end with the same weights only if they computed the same. It knows
// nothing of the validator, and trusts nothing that a list says of itself.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/staged/tasks.hpp"

namespace gangway::pipeline {

using Symbol = std::uint64_t;

/// Weights of each chunk at the end, by network and chunk. Nothing: the lists cannot be run, or do
/// not come to their end, or workers end with different weights.
using FinalWeights = std::optional<std::map<std::pair<int, int>, Symbol>>;

class SymbolicRun {
 public:
  /// @param graph  of the same steps: what is computed of what
  SymbolicRun(const TaskGraph& graph, const StageSchedule& schedule);
  [[nodiscard]] FinalWeights run();

 private:
  using Chunk = std::pair<int, int>;
  using Place = std::tuple<int, int, int, int, int, int, int, int, int>;
  struct Exchange {
    int num_members = 0;
    std::map<int, Symbol> leaves;  // by micro-batch
    std::vector<std::size_t> members;
    bool has_ended = false;
    Symbol weights = 0;
  };
  struct Message {
    int task = 0;
    Symbol value = 0;
    std::int64_t bytes = 0;
  };
  struct Worker {
    std::size_t at = 0;
    std::map<int, Symbol> tensors;  // by task
    std::map<int, Symbol> kept;     // by task
    std::map<Chunk, Symbol> weights;
    std::map<Chunk, int> under_way;  // exchange
    std::map<Chunk, int> num_updates;
    std::map<std::pair<Chunk, int>, std::vector<Symbol>> open;  // leaves, by micro-batch
    std::map<Chunk, std::map<int, Symbol>> closed;
    std::map<Chunk, bool> armed;  // true: what it was for has left
    std::deque<int> lane;
    bool is_at_flush = false;
  };
  enum class Outcome { kDone, kWaits, kFails };

  [[nodiscard]] static Place place_of(const StageInstruction& what, StageOperation operation);
  [[nodiscard]] Outcome perform(std::size_t number, const StageInstruction& what);
  [[nodiscard]] Outcome compute(Worker& worker, const StageInstruction& what);
  [[nodiscard]] Outcome add_to_leaf(Worker& worker, const StageInstruction& what, Symbol value);
  [[nodiscard]] Outcome close_leaf(Worker& worker, const StageInstruction& what);
  [[nodiscard]] Outcome reduce(std::size_t number, const StageInstruction& what);
  [[nodiscard]] Outcome await(Worker& worker, const StageInstruction& what);
  [[nodiscard]] Outcome transfer(std::size_t number, const StageInstruction& what);
  [[nodiscard]] Outcome flush(std::size_t number);
  void end_exchanges();
  [[nodiscard]] std::optional<int> task_of(const StageInstruction& what,
                                           StageOperation operation) const;
  [[nodiscard]] std::optional<Symbol> value_of(const Worker& worker, int task) const;
  [[nodiscard]] Symbol& weights_of(Worker& worker, Chunk chunk) const;

  const TaskGraph& graph_;
  const StageSchedule& schedule_;
  std::map<Place, int> tasks_;
  std::vector<Worker> workers_;
  std::map<std::tuple<Chunk, int>, int> exchange_of_;  // chunk and how often it was updated before
  std::vector<Exchange> exchanges_;
  std::map<Chunk, int> num_members_;
  std::map<std::pair<int, int>, std::deque<Message>> messages_;
};

}  // namespace gangway::pipeline
