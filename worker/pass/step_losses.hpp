// SPDX-License-Identifier: MIT
// The losses of one step and what else is shown of it by micro-batch, as tensors until somebody
// reads them: to look at one on a device would wait for the device. Compute thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Event.h>

#include "comm/arena/reduction_tree.hpp"
#include "gan/torch.hpp"
#include "job/models/network_id.hpp"
#include "run/messages/messages.hpp"
#include "worker/figures/step_logits.hpp"

namespace gangway::worker {

class StepLosses {
 public:
  StepLosses() = default;
  StepLosses(MicrobatchRange local, std::size_t networks) : local_(local), networks_(networks) {}

  /// @param loss  a scalar, with or without a graph: one of `count` whose mean is asked for
  void add(NetworkId network, int microbatch, const at::Tensor& loss, int count);
  void add_logits(JudgedLogits logits) { logits_.add(std::move(logits)); }
  /// A figure of the micro-batch's, a scalar without a graph: one of `count` whose mean is shown.
  void add_figure(const std::string& name, int microbatch, const at::Tensor& value, int count);
  /// A number that is known already, or a scalar; of several under one name the last counts.
  void set_figure(int microbatch, const std::string& name, double value) {
    figures_[{microbatch, name}] = value;
  }
  void set_figure(int microbatch, const std::string& name, const at::Tensor& value);
  /// Whether nothing was added.
  [[nodiscard]] bool is_empty() const { return entries_.empty(); }
  /// Others that look at the same tensors. @pre not closed
  [[nodiscard]] StepLosses again() const;
  /// Nothing more will be added: begins to copy them to the host.
  void close();
  /// By micro-batch; waits for the device where it has not come so far. @pre closed
  [[nodiscard]] std::vector<messages::MicrobatchLoss> read() const;
  /// Of the logits, for `step` (steps done). Waits as read() does. @pre closed
  [[nodiscard]] std::vector<messages::HistogramPart> read_histograms(std::int64_t step) const;

 private:
  void wait_for_copies() const;

  struct Entry {
    NetworkId network;
    int microbatch;
    int count;                ///< 0: the last one counts
    std::string figure = {};  ///< empty: it is a loss
  };
  MicrobatchRange local_;
  std::size_t networks_ = 0;
  std::vector<Entry> entries_;
  std::vector<at::Tensor> values_;  // until closed
  at::Tensor on_host_;              // float64 [entries]
  StepLogits logits_;
  std::map<std::pair<int, std::string>, double> figures_;  // by micro-batch and name
  std::optional<c10::Event> copied_;
};

}  // namespace gangway::worker
