// SPDX-License-Identifier: MIT
// Gradients and weights that saturate the link between two workers, as two networks' exchanges do
// at their worst: so many messages, each as large as a bucket's slice, that the next is always
// there when one has left. Lane thread but for what says otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/lane.hpp"
#include "comm/transport/transport.hpp"

namespace gangway::bench {

class Flood final : public comm::Exchange {
 public:
  /// Of the InfoGAN net between two workers: 53 MB in 8 buckets, half of each for either.
  static constexpr std::size_t kMessageBytes = std::size_t{3} << 20U;

  /// @param num_messages  each way, of each of the kinds that travel at once
  Flood(comm::Transport& transport, int peer, std::int64_t num_messages);

  [[nodiscard]] static constexpr std::int64_t bytes_of(std::int64_t num_messages) {
    return num_messages * static_cast<std::int64_t>(kKinds * kMessageBytes);
  }
  /// Any thread.
  [[nodiscard]] bool is_over() const { return needs() == Need::kNothing; }
  [[nodiscard]] Need needs() const override {
    return is_over_.load(std::memory_order_acquire) ? Need::kNothing : Need::kMessages;
  }
  bool advance() override;

 private:
  /// Two buckets' sums and one's weights: what an exchange has on its way at a time.
  static constexpr std::size_t kKinds = 3;
  /// One way of one kind.
  struct Row {
    std::optional<comm::RequestId> request;
    std::int64_t left = 0;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] comm::MessageTag tag(std::size_t kind) const;

  comm::Transport& transport_;
  int peer_;
  std::array<Row, kKinds> out_;
  std::array<Row, kKinds> in_;
  std::atomic<bool> is_over_;
};

}  // namespace gangway::bench
