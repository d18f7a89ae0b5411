// SPDX-License-Identifier: MIT
#include "coordinator/core/figure_accounting.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace gangway::coordinator {
namespace {

/// Adds one worker's part of an update that several workers made.
void add(messages::UpdateFigures& sum, const messages::UpdateFigures& more) {
  if (sum.update != more.update) {
    throw InvariantError(fmt::format("one worker told the norms of update {}, another of {}",
                                     sum.update, more.update));
  }
  sum.was_skipped = sum.was_skipped || more.was_skipped;
  if (!sum.squares || !more.squares) {
    sum.squares.reset();  // without every worker's part there is no norm
    return;
  }
  sum.squares->gradient += more.squares->gradient;
  sum.squares->change += more.squares->change;
  sum.squares->weights += more.squares->weights;
}

std::optional<report::UpdateNorms> norms_of(const messages::UpdateFigures& update) {
  if (!update.squares) {
    return std::nullopt;
  }
  return report::UpdateNorms{
      .gradient = std::sqrt(update.squares->gradient),
      .weights = std::sqrt(update.squares->weights),
      .update_ratio = std::sqrt(update.squares->change / update.squares->weights)};
}

}  // namespace

void FigureAccounting::Mean::add(double value) {
  sum += value;
  ++count;
}

void FigureAccounting::add_step(const std::map<int, messages::MicrobatchLoss>& losses,
                                const std::map<Rank, messages::Progress>& told) {
  std::map<std::string, Mean> of_step;
  for (const auto& [microbatch, loss] : losses) {
    for (const messages::NamedFigure& figure : loss.figures) {
      of_step[figure.name].add(figure.value);
    }
  }
  last_step_.clear();
  for (const auto& [name, mean] : of_step) {
    last_step_[name] = mean.value();
    figures_[name].add(mean.value());
  }
  add_updates(told);
  add_histograms(told);
}

void FigureAccounting::add_updates(const std::map<Rank, messages::Progress>& told) {
  std::map<int, messages::UpdateFigures> of_step;
  for (const auto& [rank, progress] : told) {
    for (const messages::UpdateFigures& update : progress.updates) {
      if (std::cmp_greater_equal(update.network, networks_.size())) {
        throw InvariantError(fmt::format("rank {} reported an update of network {} of {}", rank,
                                         update.network, networks_.size()));
      }
      if (const auto [sum, is_first] = of_step.try_emplace(update.network, update); !is_first) {
        add(sum->second, update);
      }
    }
  }
  for (auto& [network, update] : of_step) {
    updates_[network] = update;
  }
}

void FigureAccounting::add_histograms(const std::map<Rank, messages::Progress>& told) {
  std::map<std::pair<std::int64_t, std::string>, Histogram> sums;
  for (const auto& [rank, progress] : told) {
    for (const messages::HistogramPart& part : progress.histograms) {
      sums[{part.step, part.tag}].add(part.counts);
    }
  }
  for (const auto& [of, sum] : sums) {
    histograms_.push_back({.step = of.first, .tag = of.second, .counts = sum.counts()});
  }
}

void FigureAccounting::tell(report::Tick& tick) {
  for (const auto& [network, update] : updates_) {
    tick.updates.push_back({.network = networks_[static_cast<std::size_t>(network)],
                            .count = update.update,
                            .lr = update.lr,
                            .was_skipped = update.was_skipped,
                            .norms = norms_of(update)});
  }
  for (const auto& [name, mean] : figures_) {
    tick.figures.push_back({name, mean.value()});
  }
  tick.histograms = std::exchange(histograms_, {});
  updates_.clear();
  figures_.clear();
}

}  // namespace gangway::coordinator
