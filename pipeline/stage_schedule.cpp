// SPDX-License-Identifier: MIT
#include "pipeline/stage_schedule.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "pipeline/apart_schedule.hpp"
#include "pipeline/backward_stations.hpp"
#include "pipeline/fill_order.hpp"
#include "pipeline/list_writer.hpp"
#include "pipeline/moments.hpp"

namespace gangway::pipeline {
namespace {

/// Of a pass over a micro-batch, how far its list has come.
struct PassProgress {
  std::size_t received = 0;      // of the share's receives
  std::vector<Crossing> wanted;  // gradients that are still to come, the last taker first
  std::vector<Crossing> owed;    // and to be sent, likewise
  std::vector<int> backwards;    // own nodes that are still to go back, descending
};

/// A repeat of a phase in the step.
struct PhaseProgress {
  const Phase* phase = nullptr;
  int repeat = 0;
  std::map<std::pair<int, int>, PassProgress> passes = {};  // by pass and micro-batch
};

/// Writes one step of one worker.
class StageWriter : public ListWriter {
 public:
  StageWriter(const PassShares& shares, const StageOptions& options)
      : ListWriter(options.overlap), shares_(shares), order_(options.order) {}

  /// @param pieces  this worker's, in their order; of others than StageOrder::kFill: none
  void write(const std::vector<StageUnit>& units, const std::vector<StagePiece>& pieces);

 private:
  [[nodiscard]] MicrobatchRange local() const {
    return range_of_all(shares_.groups(), shares_.worker());
  }
  [[nodiscard]] const PassShare& share() const {
    return shares_.of(at_.phase, at_.pass, at_.microbatch);
  }
  [[nodiscard]] PassProgress& progress() { return now_->passes.at({at_.pass, at_.microbatch}); }
  [[nodiscard]] bool has_leaf(const Home& home) const;
  /// What follows is of `unit`.
  void turn_to(PhaseProgress& unit);
  void begin(PhaseProgress& unit);
  /// Nodes of each pass up to the first penalty.
  void write_forwards(const Phase& phase);
  /// Node `node` of the pass at hand, and what has to come before it.
  void write_forward(const Pass& pass, int node);
  /// Of the micro-batch at hand.
  void write_station(const Phase& phase, const BackwardStation& station);
  void write_stations(const Phase& phase, const std::vector<BackwardStation>& stations);
  /// Forwards and backwards in turns, all of the phase.
  void write_one_by_one(const Phase& phase, const std::vector<BackwardStation>& stations);
  void write_backward(const Pass& pass, int node);
  void receive_until(int node);
  /// What is made on the way to `node`, and itself, may look at statistics, which an update
  /// changes.
  void await_looked_at(const Pass& pass, int node);
  /// What crosses of passes of which this worker has no backward.
  void write_rest(const Phase& phase);
  void write_updates(const Phase& phase);
  /// All pieces of the unit are written: what is left of it.
  void end(PhaseProgress& unit);
  void write_filled(std::vector<PhaseProgress>& units, const std::vector<StagePiece>& pieces);
  void cross(Operation operation, const Crossing& crossing) {
    at_.node = crossing.node;
    at_.peer = crossing.peer;
    add(operation, {});
    at_.peer = -1;
  }

  const PassShares& shares_;
  StageOrder order_;
  PhaseProgress* now_ = nullptr;
};

bool StageWriter::has_leaf(const Home& home) const {
  const NetworkGroup& group = shares_.groups()[home.network];
  return group.chunk_of(shares_.worker()) == home.chunk &&
         group.range_of(shares_.worker()).contains({at_.microbatch, at_.microbatch + 1});
}

void StageWriter::turn_to(PhaseProgress& unit) {
  now_ = &unit;
  at_ = {.phase = unit.phase->index, .repeat = unit.repeat};
}

void StageWriter::begin(PhaseProgress& unit) {
  turn_to(unit);
  const Phase& phase = *unit.phase;
  for (at_.pass = 0; at_.pass < static_cast<int>(phase.passes.size()); ++at_.pass) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(at_.pass)];
    for (at_.microbatch = local().begin; at_.microbatch < local().end; ++at_.microbatch) {
      PassProgress& one = unit.passes[{at_.pass, at_.microbatch}];
      std::ranges::copy_if(share().sends, std::back_inserter(one.wanted), &Crossing::has_gradient);
      std::ranges::copy_if(share().receives, std::back_inserter(one.owed), &Crossing::has_gradient);
      std::ranges::stable_sort(one.wanted, std::greater(), &Crossing::last_taker);
      std::ranges::stable_sort(one.owed, std::greater(), &Crossing::last_taker);
      for (int node = static_cast<int>(pass.nodes.size()); node-- > 0;) {
        if (share().mine[static_cast<std::size_t>(node)] && goes_back(pass, node)) {
          one.backwards.push_back(node);
        }
      }
    }
  }
}

void StageWriter::receive_until(int node) {
  const std::vector<Crossing>& receives = share().receives;
  std::size_t& received = progress().received;
  for (; received < receives.size() && receives[received].node < node; ++received) {
    cross(Operation::kReceive, receives[received]);
  }
}

void StageWriter::await_looked_at(const Pass& pass, int node) {
  for (int before = 0; before <= node; ++before) {
    if (!share().mine[static_cast<std::size_t>(before)]) {
      continue;
    }
    if (const auto* running = std::get_if<Running>(&node_of(pass, before))) {
      await(running->network);
    } else if (const auto* augment = std::get_if<Augment>(&node_of(pass, before))) {
      await(augment->judge);
    }
  }
}

void StageWriter::write_forward(const Pass& pass, int node) {
  const bool is_mine = share().mine[static_cast<std::size_t>(node)];
  const auto sends = [&](const Crossing& one) { return one.node == node; };
  const bool is_sent = std::ranges::any_of(share().sends, sends);
  const auto* application = std::get_if<Application>(&node_of(pass, node));
  const auto* penalty = std::get_if<Penalty>(&node_of(pass, node));
  if (!is_mine || (application == nullptr && penalty == nullptr && !is_sent)) {
    return;
  }
  await_looked_at(pass, node);
  receive_until(node);
  at_.node = node;
  if (application != nullptr) {
    use(Operation::kForward, application->network);
  } else if (penalty != nullptr) {
    use(Operation::kPenaltyForward, penalty->network);
  }
  for (const Crossing& sent : share().sends) {
    if (sent.node == node) {
      cross(Operation::kSend, sent);
    }
  }
}

void StageWriter::write_forwards(const Phase& phase) {
  at_.is_ahead = true;
  for (at_.pass = 0; at_.pass < static_cast<int>(phase.passes.size()); ++at_.pass) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(at_.pass)];
    for (int node = 0; node < first_penalty(pass); ++node) {
      for (at_.microbatch = local().begin; at_.microbatch < local().end; ++at_.microbatch) {
        write_forward(pass, node);
      }
    }
  }
}

void StageWriter::write_backward(const Pass& pass, int node) {
  receive_until(static_cast<int>(pass.nodes.size()));
  PassProgress& now = progress();
  // Of tensors that are made behind it nobody asks any more.
  while (!now.wanted.empty() &&
         std::ranges::any_of(now.wanted, [&](const Crossing& one) { return one.node >= node; })) {
    cross(Operation::kReceiveGradient, now.wanted.front());
    now.wanted.erase(now.wanted.begin());
  }
  const auto send_behind = [&](int least) {
    while (!now.owed.empty() && now.owed.front().last_taker >= least) {
      cross(Operation::kSendGradient, now.owed.front());
      now.owed.erase(now.owed.begin());
    }
  };
  send_behind(node + 1);
  at_.node = node;
  if (const auto* penalty = std::get_if<Penalty>(&node_of(pass, node))) {
    add(Operation::kPenaltyBackward, penalty->network);
  } else {
    add(Operation::kBackward, std::get<Application>(node_of(pass, node)).network);
  }
  std::erase(now.backwards, node);
  // What joins and losses before the next one give, needs no other instruction.
  send_behind(now.backwards.empty() ? 0 : now.backwards.front() + 1);
}

void StageWriter::write_station(const Phase& phase, const BackwardStation& station) {
  at_.pass = 0;
  at_.node = 0;
  for (const Home& home : station.trained) {
    if (has_leaf(home)) {
      use(Operation::kOpenLeaf, home.network);
    }
  }
  for (auto item = station.items.begin(); item != station.items.end(); ++item) {
    at_.pass = item->pass;
    if (!share().mine[static_cast<std::size_t>(item->node)]) {
      continue;
    }
    const Pass& pass = phase.passes[static_cast<std::size_t>(item->pass)];
    const bool is_first = item == station.items.begin() || std::prev(item)->pass != item->pass;
    for (int node = first_penalty(pass); is_first && node < static_cast<int>(pass.nodes.size());
         ++node) {
      write_forward(pass, node);
    }
    write_backward(pass, item->node);
  }
  at_.pass = 0;
  at_.node = 0;
  for (const Home& home : station.trained) {
    if (has_leaf(home)) {
      add(Operation::kCloseLeaf, home.network);
    }
  }
}

void StageWriter::write_stations(const Phase& phase, const std::vector<BackwardStation>& stations) {
  for (const BackwardStation& station : stations) {
    for (at_.microbatch = local().begin; at_.microbatch < local().end; ++at_.microbatch) {
      write_station(phase, station);
    }
  }
}

/// What a worker does at a moment of the phase; in the order of these members where it is one.
struct Piece {
  int moment = 0;
  bool is_forward = true;
  int microbatch = 0;
  int pass = 0;
  int index = 0;  ///< of a node, or of a station
  auto operator<=>(const Piece&) const = default;
};

void StageWriter::write_one_by_one(const Phase& phase,
                                   const std::vector<BackwardStation>& stations) {
  std::vector<Piece> pieces;
  const int turn = first_backward_moment(phase, shares_.groups());
  for (int microbatch = local().begin; microbatch < local().end; ++microbatch) {
    const int begin = microbatch * kMomentsAMicrobatch;
    for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
      const Pass& graph = phase.passes[static_cast<std::size_t>(pass)];
      const std::vector<int> moments =
          forward_moments(graph, owners_of(graph, shares_.groups(), microbatch));
      for (int node = 0; node < first_penalty(graph); ++node) {
        pieces.push_back({.moment = begin + moments[static_cast<std::size_t>(node)],
                          .microbatch = microbatch,
                          .pass = pass,
                          .index = node});
      }
    }
    for (int station = 0; station < static_cast<int>(stations.size()); ++station) {
      pieces.push_back({.moment = begin + turn + station,
                        .is_forward = false,
                        .microbatch = microbatch,
                        .index = station});
    }
  }
  std::ranges::sort(pieces);
  at_.is_ahead = true;
  for (const Piece& piece : pieces) {
    at_.microbatch = piece.microbatch;
    at_.pass = piece.pass;
    if (piece.is_forward) {
      write_forward(phase.passes[static_cast<std::size_t>(piece.pass)], piece.index);
    } else {
      write_station(phase, stations[static_cast<std::size_t>(piece.index)]);
    }
  }
}

void StageWriter::write_rest(const Phase& phase) {
  for (at_.pass = 0; at_.pass < static_cast<int>(phase.passes.size()); ++at_.pass) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(at_.pass)];
    for (at_.microbatch = local().begin; at_.microbatch < local().end; ++at_.microbatch) {
      receive_until(static_cast<int>(pass.nodes.size()));
      for (const Crossing& one : std::exchange(progress().wanted, {})) {
        cross(Operation::kReceiveGradient, one);
      }
      for (const Crossing& one : std::exchange(progress().owed, {})) {
        cross(Operation::kSendGradient, one);
      }
    }
  }
}

void StageWriter::write_updates(const Phase& phase) {
  for (const NetworkId network : phase.networks) {
    if (shares_.groups()[network].has(shares_.worker())) {
      use(Operation::kReduce, network);
      under_way(network) = true;
      if (overlap_ != Overlap::kAcross) {
        await(network);
      }
    }
  }
}

void StageWriter::end(PhaseProgress& unit) {
  turn_to(unit);
  at_.is_ahead = true;
  write_rest(*unit.phase);
  turn_to(unit);
  write_updates(*unit.phase);
}

void StageWriter::write_filled(std::vector<PhaseProgress>& units,
                               const std::vector<StagePiece>& pieces) {
  std::vector<std::vector<BackwardStation>> stations;
  for (const PhaseProgress& unit : units) {
    stations.push_back(backward_stations(*unit.phase, shares_.groups()));
  }
  for (const StagePiece& piece : pieces) {
    const auto unit = static_cast<std::size_t>(piece.unit);
    const Phase& phase = *units[unit].phase;
    if (piece.kind == StagePiece::Kind::kEnd) {
      end(units[unit]);
      continue;
    }
    turn_to(units[unit]);
    at_.is_ahead = true;
    at_.microbatch = piece.microbatch;
    at_.pass = piece.pass;
    if (piece.kind == StagePiece::Kind::kForward) {
      write_forward(phase.passes[static_cast<std::size_t>(piece.pass)], piece.index);
    } else {
      write_station(phase, stations[unit][static_cast<std::size_t>(piece.index)]);
    }
  }
}

void StageWriter::write(const std::vector<StageUnit>& units,
                        const std::vector<StagePiece>& pieces) {
  std::vector<PhaseProgress> progress;
  for (const StageUnit& unit : units) {
    begin(progress.emplace_back(PhaseProgress{.phase = unit.phase, .repeat = unit.repeat}));
  }
  if (order_ == StageOrder::kFill) {
    return write_filled(progress, pieces);
  }
  for (PhaseProgress& unit : progress) {
    const Phase& phase = *unit.phase;
    const std::vector<BackwardStation> stations = backward_stations(phase, shares_.groups());
    turn_to(unit);
    if (order_ == StageOrder::kOneForwardOneBackward) {
      write_one_by_one(phase, stations);
    } else {
      write_forwards(phase);
      write_stations(phase, stations);
    }
    end(unit);
  }
}

std::vector<StageUnit> units_of(const std::vector<Phase>& phases, std::int64_t step) {
  std::vector<StageUnit> units;
  for (const Phase& phase : phases) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      units.push_back({.phase = &phase, .repeat = repeat});
    }
  }
  return units;
}

/// Of each worker that `shares` has one of; all are of one job.
std::vector<std::vector<Instruction>> stage_schedules(const std::vector<const PassShares*>& shares,
                                                      std::int64_t step,
                                                      const StageOptions& options) {
  const PassShares& any = *shares.front();
  const std::vector<StageUnit> units = units_of(any.phases(), step);
  const bool is_filled = options.order == StageOrder::kFill;
  const std::vector<std::vector<StagePiece>> pieces =
      is_filled ? fill_order(any.groups(), units, options.overlap != Overlap::kAcross)
                : std::vector<std::vector<StagePiece>>{};
  std::vector<std::vector<Instruction>> lists;
  for (const PassShares* one : shares) {
    StageWriter writer(*one, options);
    writer.write(units, is_filled ? pieces.at(static_cast<std::size_t>(one->worker()))
                                  : std::vector<StagePiece>{});
    lists.push_back(with_updates_marked(one->phases(), writer.take(), options.overlap));
  }
  return lists;
}

}  // namespace

std::vector<Instruction> stage_schedule(const PassShares& shares, std::int64_t step,
                                        const StageOptions& options) {
  return stage_schedules({&shares}, step, options).front();
}

std::vector<std::vector<Instruction>> step_schedules(const std::vector<PassShares>& workers,
                                                     std::int64_t step,
                                                     const StageOptions& options) {
  std::vector<std::vector<Instruction>> lists;
  if (!workers.front().are_cut()) {
    for (const PassShares& shares : workers) {
      lists.push_back(step_schedule(shares, step, options));
    }
    return lists;
  }
  std::vector<const PassShares*> all;
  for (const PassShares& shares : workers) {
    all.push_back(&shares);
  }
  return stage_schedules(all, step, options);
}

std::vector<Instruction> step_schedule(const PassShares& shares, std::int64_t step,
                                       const StageOptions& options) {
  if (!shares.are_apart()) {
    return one_stage_schedule(shares.phases(), range_of_all(shares.groups(), shares.worker()), step,
                              options.overlap);
  }
  return shares.are_cut() ? stage_schedule(shares, step, options)
                          : apart_schedule(shares, step, options.overlap);
}

}  // namespace gangway::pipeline
