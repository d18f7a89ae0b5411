// SPDX-License-Identifier: MIT
// The losses of one step, as tensors until somebody reads them: to look at one on a device would
// wait for the device. Compute thread.
#pragma once

#include <optional>
#include <vector>

#include <c10/core/Event.h>

#include "comm/arena/reduction_tree.hpp"
#include "gan/torch.hpp"
#include "job/models/network_id.hpp"
#include "run/messages/messages.hpp"

namespace gangway::worker {

class StepLosses {
 public:
  StepLosses() = default;
  StepLosses(MicrobatchRange local, std::size_t networks) : local_(local), networks_(networks) {}

  /// @param loss  a scalar, with or without a graph: one of `count` whose mean is asked for
  void add(NetworkId network, int microbatch, const at::Tensor& loss, int count);
  /// Nothing more will be added: begins to copy them to the host.
  void close();
  /// By micro-batch; waits for the device where it has not come so far. @pre closed
  [[nodiscard]] std::vector<messages::MicrobatchLoss> read() const;

 private:
  struct Entry {
    NetworkId network;
    int microbatch;
    int count;
  };
  MicrobatchRange local_;
  std::size_t networks_ = 0;
  std::vector<Entry> entries_;
  std::vector<at::Tensor> values_;  // until closed
  at::Tensor on_host_;              // float64 [entries]
  std::optional<c10::Event> copied_;
};

}  // namespace gangway::worker
