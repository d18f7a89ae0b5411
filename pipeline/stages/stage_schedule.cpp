// SPDX-License-Identifier: MIT
#include "pipeline/stages/stage_schedule.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "pipeline/stages/fill_order.hpp"
#include "pipeline/stages/leaf_order.hpp"
#include "pipeline/stages/list_writer.hpp"

namespace gangway::pipeline {
namespace {

using Pieces = std::vector<StagePiece>;

std::vector<StageUnit> units_of(const PassShares& shares, std::int64_t step, StageOrder order) {
  std::vector<StageUnit> units;
  for (const Phase& phase : shares.phases()) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      units.push_back({.phase = &phase, .repeat = repeat});
      if (shares.are_cut()) {
        units.back().segments = backward_segments(phase, shares.layout());
      }
      for (BackwardSegment& segment : units.back().segments) {
        segment.is_split = order == StageOrder::kZeroBubble && can_be_split(phase, segment);
      }
    }
  }
  return units;
}

/// Orders node after node, then segment after segment, each over all micro-batches.
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
    const auto segments = static_cast<int>(units[static_cast<std::size_t>(unit)].segments.size());
    for (int segment = 0; segment < segments; ++segment) {
      add(StagePiece::Kind::kSegment, 0, segment);
    }
    pieces.push_back({.unit = unit, .kind = StagePiece::Kind::kEnd});
  }
  return pieces;
}

/// Returns the pieces of each worker of `shares`, all of one job, in the job's chosen order.
std::vector<Pieces> ordered(const std::vector<const PassShares*>& shares,
                            const std::vector<StageUnit>& units) {
  const Layout& layout = shares.front()->layout();
  const bool are_cut = shares.front()->are_cut();
  std::vector<Pieces> filled;
  if (are_cut && layout.schedule != StageOrder::kByPhase) {
    filled = fill_order(layout, units,
                        {.awaits_at_once = layout.overlap != Overlap::kAcross,
                         .in_flight = layout.most_in_flight()});
  }
  std::vector<Pieces> pieces;
  for (const PassShares* one : shares) {
    pieces.push_back(!are_cut         ? leaf_order(*one, units)
                     : filled.empty() ? by_phase(units, *one)
                                      : filled.at(static_cast<std::size_t>(one->worker())));
  }
  return pieces;
}

std::vector<std::vector<Instruction>> schedules(const std::vector<const PassShares*>& shares,
                                                std::int64_t step) {
  const Execution& how = shares.front()->layout();
  const std::vector<StageUnit> units = units_of(*shares.front(), step, how.schedule);
  const std::vector<Pieces> pieces = ordered(shares, units);
  std::vector<std::vector<Instruction>> lists;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    ListWriter writer(*shares[i], units, how.overlap);
    for (const StagePiece& piece : pieces[i]) {
      writer.write(piece);
    }
    const std::vector<Phase>& phases = shares[i]->phases();
    std::vector<Instruction> list = writer.take();
    if (how.recompute) {
      list = with_recomputes(phases, list);
    }
    lists.push_back(with_updates_marked(phases, std::move(list), how.overlap));
  }
  return lists;
}

/// Returns the layout with all networks on one worker, for these micro-batches.
Layout whole(const std::vector<Phase>& phases, MicrobatchRange local) {
  std::size_t networks = 0;
  for (const Phase& phase : phases) {
    for (const Pass& pass : phase.passes) {
      for (const std::optional<ChunkId>& chunk_id : chunk_ids_of(pass)) {
        networks =
            std::max(networks, chunk_id ? static_cast<std::size_t>(chunk_id->network) + 1 : 0);
      }
    }
    for (const NetworkId network : phase.networks) {
      networks = std::max(networks, static_cast<std::size_t>(network) + 1);
    }
  }
  Layout layout;
  while (layout.size() < networks) {
    layout.add({.workers = {0}, .ranges = {local}});
  }
  return layout;
}

}  // namespace

std::vector<Instruction> one_stage_schedule(const std::vector<Phase>& phases, MicrobatchRange local,
                                            std::int64_t step, Overlap overlap, bool recompute) {
  Layout layout = whole(phases, local);
  layout.overlap = overlap;
  layout.recompute = recompute;
  return step_schedule(PassShares(phases, std::move(layout), 0), step);
}

std::vector<Instruction> step_schedule(const PassShares& shares, std::int64_t step) {
  return schedules({&shares}, step).front();
}

std::vector<std::vector<Instruction>> step_schedules(const std::vector<PassShares>& workers,
                                                     std::int64_t step) {
  std::vector<const PassShares*> all;
  for (const PassShares& shares : workers) {
    all.push_back(&shares);
  }
  return schedules(all, step);
}

}  // namespace gangway::pipeline
