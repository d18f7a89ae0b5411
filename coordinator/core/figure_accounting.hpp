// SPDX-License-Identifier: MIT
// Turns the workers' update norms, micro-batch figures and histograms into the figures of a tick.
// Makes no decisions. Pure; driven by TickAccounting.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/tick.hpp"
#include "run/messages/messages.hpp"

namespace gangway::coordinator {

class FigureAccounting {
 public:
  /// @param networks  names, in the job's order
  explicit FigureAccounting(std::vector<std::string> networks) : networks_(std::move(networks)) {}

  /// Adds a step that all workers have reported.
  /// @param losses  by micro-batch; figures are added in this order, whichever worker reported them
  /// @param told    by rank; squares are added in the order of the ranks
  /// @throws InvariantError for an unknown network
  void add_step(const std::map<int, messages::MicrobatchLoss>& losses,
                const std::map<Rank, messages::Progress>& told);
  /// Means over the last step's micro-batches, by name; bit-identical on every layout.
  [[nodiscard]] const std::map<std::string, double>& last_step() const { return last_step_; }
  /// Writes to `tick` what arrived since the last call: each network's newest update, the figures'
  /// means over the steps that had them, and all histograms.
  void tell(report::Tick& tick);

 private:
  struct Mean {
    double sum = 0.0;
    std::int64_t count = 0;
    void add(double value);
    [[nodiscard]] double value() const { return sum / static_cast<double>(count); }
  };
  void add_updates(const std::map<Rank, messages::Progress>& told);
  void add_histograms(const std::map<Rank, messages::Progress>& told);

  std::vector<std::string> networks_;
  std::map<std::string, double> last_step_;         // means over its micro-batches, by name
  std::map<std::string, Mean> figures_;             // of last_step_ over this tick's steps, by name
  std::map<int, messages::UpdateFigures> updates_;  // sums over the workers, by network
  std::vector<report::TickHistogram> histograms_;   // joined over the workers, in step order
};

}  // namespace gangway::coordinator
