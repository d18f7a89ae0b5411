// SPDX-License-Identifier: MIT
// Turns what workers tell of updates, of micro-batches and of distributions into what a tick shows
// of them. Nothing here decides anything. Pure; driven by TickAccounting.
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

  /// Takes in a step that all workers have told.
  /// @param losses  by micro-batch: their figures are added in this order, whoever told them
  /// @param told    by rank, in whose order squares are added
  /// @throws InvariantError for a network that there is not
  void add_step(const std::map<int, messages::MicrobatchLoss>& losses,
                const std::map<int, messages::Progress>& told);
  /// Means over the micro-batches of the last step, by name; the same bits on any layout.
  [[nodiscard]] const std::map<std::string, double>& last_step() const { return last_step_; }
  /// What came since the last call: the newest update of each network, means of figures over the
  /// steps that had them, all histograms.
  void tell(report::Tick& tick);

 private:
  struct Mean {
    double sum = 0.0;
    std::int64_t count = 0;
    void add(double value);
    [[nodiscard]] double value() const { return sum / static_cast<double>(count); }
  };
  void add_updates(const std::map<int, messages::Progress>& told);
  void add_histograms(const std::map<int, messages::Progress>& told);

  std::vector<std::string> networks_;
  std::map<std::string, double> last_step_;         // means
  std::map<std::string, Mean> figures_;             // of those, by name
  std::map<int, messages::UpdateFigures> updates_;  // sums over the workers, by network
  std::vector<report::TickHistogram> histograms_;   // whole, in the order of their steps
};

}  // namespace gangway::coordinator
