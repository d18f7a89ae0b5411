// SPDX-License-Identifier: MIT
#include "pipeline/stages/stage_schedule.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "pipeline/apart_schedule.hpp"
#include "pipeline/stages/fill_order.hpp"
#include "pipeline/stages/moments.hpp"
#include "pipeline/stages/stage_writer.hpp"

namespace gangway::pipeline {
namespace {

using Pieces = std::vector<StagePiece>;

std::vector<StageUnit> units_of(const PassShares& shares, std::int64_t step) {
  std::vector<StageUnit> units;
  for (const Phase& phase : shares.phases()) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      units.push_back({.phase = &phase,
                       .repeat = repeat,
                       .stations = backward_stations(phase, shares.groups())});
    }
  }
  return units;
}

/// Node after node, then station after station, each for one micro-batch after the other.
Pieces by_phase(const std::vector<StageUnit>& units, const PassShares& shares) {
  const MicrobatchRange local = range_of_all(shares.groups(), shares.worker());
  Pieces pieces;
  for (int unit = 0; unit < static_cast<int>(units.size()); ++unit) {
    const Phase& phase = *units[static_cast<std::size_t>(unit)].phase;
    const auto add = [&](StagePiece::Kind kind, int pass, int index) {
      for (int microbatch = local.begin; microbatch < local.end; ++microbatch) {
        pieces.push_back({unit, kind, microbatch, pass, index});
      }
    };
    for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
      for (int node = 0; node < first_penalty(phase.passes[static_cast<std::size_t>(pass)]);
           ++node) {
        add(StagePiece::Kind::kForward, pass, node);
      }
    }
    const auto stations = static_cast<int>(units[static_cast<std::size_t>(unit)].stations.size());
    for (int station = 0; station < stations; ++station) {
      add(StagePiece::Kind::kStation, 0, station);
    }
    pieces.push_back({.unit = unit, .kind = StagePiece::Kind::kEnd});
  }
  return pieces;
}

/// Those of one unit by their moments; of one moment stations come first.
Pieces by_moments(const std::vector<StageUnit>& units, int unit, const PassShares& shares) {
  const Phase& phase = *units[static_cast<std::size_t>(unit)].phase;
  const MicrobatchRange local = range_of_all(shares.groups(), shares.worker());
  const int turn = first_backward_moment(phase, shares.groups());
  const auto stations = static_cast<int>(units[static_cast<std::size_t>(unit)].stations.size());
  std::vector<std::pair<int, StagePiece>> timed;
  for (int microbatch = local.begin; microbatch < local.end; ++microbatch) {
    const int begin = microbatch * kMomentsAMicrobatch;
    for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
      const Pass& graph = phase.passes[static_cast<std::size_t>(pass)];
      const std::vector<int> moments =
          forward_moments(graph, owners_of(graph, shares.groups(), microbatch));
      for (int node = 0; node < first_penalty(graph); ++node) {
        timed.push_back({begin + moments[static_cast<std::size_t>(node)],
                         {unit, StagePiece::Kind::kForward, microbatch, pass, node}});
      }
    }
    for (int station = 0; station < stations; ++station) {
      timed.push_back(
          {begin + turn + station, {unit, StagePiece::Kind::kStation, microbatch, 0, station}});
    }
  }
  std::ranges::sort(timed, {}, [](const auto& one) {
    const auto& [moment, piece] = one;
    return std::tuple(moment, piece.kind, piece.microbatch, piece.pass, piece.index);
  });
  Pieces pieces;
  for (const auto& [moment, piece] : timed) {
    pieces.push_back(piece);
  }
  return pieces;
}

/// All units one after the other.
Pieces in_turns(const std::vector<StageUnit>& units, const PassShares& shares) {
  Pieces pieces;
  for (int unit = 0; unit < static_cast<int>(units.size()); ++unit) {
    const Pieces own = by_moments(units, unit, shares);
    pieces.insert(pieces.end(), own.begin(), own.end());
    pieces.push_back({.unit = unit, .kind = StagePiece::Kind::kEnd});
  }
  return pieces;
}

/// Of each worker that `shares` has one of; all are of one job.
std::vector<std::vector<Instruction>> stage_schedules(const std::vector<const PassShares*>& shares,
                                                      std::int64_t step,
                                                      const StageOptions& options) {
  const PassShares& any = *shares.front();
  const std::vector<StageUnit> units = units_of(any, step);
  std::vector<Pieces> filled;
  if (options.order == StageOrder::kFill) {
    filled = fill_order(any.groups(), units, options.overlap != Overlap::kAcross);
  }
  std::vector<std::vector<Instruction>> lists;
  for (const PassShares* one : shares) {
    StageWriter writer(*one, units, options.overlap);
    const Pieces pieces = options.order == StageOrder::kFill
                              ? filled.at(static_cast<std::size_t>(one->worker()))
                          : options.order == StageOrder::kByPhase ? by_phase(units, *one)
                                                                  : in_turns(units, *one);
    for (const StagePiece& piece : pieces) {
      writer.write(piece);
    }
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
