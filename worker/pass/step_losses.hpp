// SPDX-License-Identifier: MIT
// Collects the losses and other figures of one step by micro-batch. Keeps them as tensors until
// read(), because reading a device's tensor waits for the device. Compute thread.
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

  /// @param loss  a scalar, with or without a graph: one of `count` values that are averaged
  void add(NetworkId network, int microbatch, const at::Tensor& loss, int count);
  void add_logits(JudgedLogits logits) { logits_.add(std::move(logits)); }
  /// Adds a figure of the micro-batch, a scalar without a graph: one of `count` averaged values.
  void add_figure(const std::string& name, int microbatch, const at::Tensor& value, int count);
  /// Sets a figure to a known number or a scalar tensor; the last value of a name counts.
  void set_figure(int microbatch, const std::string& name, double value) {
    figures_[{microbatch, name}] = value;
  }
  void set_figure(int microbatch, const std::string& name, const at::Tensor& value) {
    add_figure(name, microbatch, value, /*count=*/0);
  }
  /// Returns whether nothing was added.
  [[nodiscard]] bool is_empty() const { return entries_.empty(); }
  /// Returns new losses that refer to the same tensors. @pre not closed
  [[nodiscard]] StepLosses again() const;
  /// Ends adding and begins to copy the values to the host.
  void close();
  /// Returns the losses by micro-batch; waits until the device has computed them. @pre closed
  [[nodiscard]] std::vector<messages::MicrobatchLoss> read() const;
  /// Returns histograms of the logits for `step` (steps done). Waits as read() does. @pre closed
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
