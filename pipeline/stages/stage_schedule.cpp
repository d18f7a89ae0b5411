// SPDX-License-Identifier: MIT
#include "pipeline/stages/stage_schedule.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "pipeline/apart_schedule.hpp"
#include "pipeline/stages/fill_order.hpp"
#include "pipeline/stages/stage_writer.hpp"

namespace gangway::pipeline {
namespace {

using Pieces = std::vector<StagePiece>;

std::vector<StageUnit> units_of(const PassShares& shares, std::int64_t step, bool splits) {
  std::vector<StageUnit> units;
  for (const Phase& phase : shares.phases()) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      units.push_back({.phase = &phase,
                       .repeat = repeat,
                       .stations = backward_stations(phase, shares.layout())});
      for (BackwardStation& station : units.back().stations) {
        station.is_split = splits && can_be_split(phase, station);
      }
    }
  }
  return units;
}

/// Node after node, then station after station, each for one micro-batch after the other.
Pieces by_phase(const std::vector<StageUnit>& units, const PassShares& shares) {
  const MicrobatchRange local = shares.local();
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

/// Of each worker that `shares` has one of; all are of one job.
std::vector<std::vector<Instruction>> stage_schedules(const std::vector<const PassShares*>& shares,
                                                      std::int64_t step,
                                                      const StageOptions& options) {
  const PassShares& any = *shares.front();
  const std::vector<StageUnit> units =
      units_of(any, step, options.order == StageOrder::kZeroBubble);
  const bool is_filled = options.order != StageOrder::kByPhase;
  std::vector<Pieces> filled;
  if (is_filled) {
    filled =
        fill_order(any.layout(), units,
                   {.awaits_at_once = options.overlap != Overlap::kAcross,
                    .in_flight = any.layout().most_in_flight(options.order, options.in_flight)});
  }
  std::vector<std::vector<Instruction>> lists;
  for (const PassShares* one : shares) {
    StageWriter writer(*one, units, options.overlap);
    const Pieces pieces =
        is_filled ? filled.at(static_cast<std::size_t>(one->worker())) : by_phase(units, *one);
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
    return one_stage_schedule(shares.phases(), shares.local(), step, options.overlap);
  }
  return shares.are_cut() ? stage_schedule(shares, step, options)
                          : apart_schedule(shares, step, options.overlap);
}

}  // namespace gangway::pipeline
