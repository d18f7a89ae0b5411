// SPDX-License-Identifier: MIT
#include "bench/priority/flood.hpp"

#include <algorithm>

namespace gangway::bench {

Flood::Flood(comm::Transport& transport, int peer, std::int64_t num_messages)
    : transport_(transport), peer_(peer), is_over_(num_messages == 0) {
  for (std::array<Row, kKinds>* rows : {&out_, &in_}) {
    for (Row& row : *rows) {
      row.left = num_messages;
      row.bytes.resize(num_messages == 0 ? 0 : kMessageBytes);
    }
  }
}

comm::MessageTag Flood::tag(std::size_t kind) const {
  const bool is_weights = kind + 1 == kKinds;
  return {transport_.epoch(), 0,
          is_weights ? comm::MessageKind::kWeights : comm::MessageKind::kPartial,
          static_cast<int>(kind), 0};
}

bool Flood::advance() {
  if (is_over()) {
    return false;
  }
  bool moved = false;
  const auto go_on = [&](Row& row, const auto& start) {
    if (row.request && transport_.done(*row.request)) {
      row.request.reset();
      moved = true;
    }
    if (!row.request && row.left > 0) {
      --row.left;
      row.request = start(row);
    }
  };
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    go_on(in_[kind],
          [&](Row& row) { return transport_.start_receive(peer_, tag(kind), row.bytes); });
    go_on(out_[kind], [&](Row& row) { return transport_.start_send(peer_, tag(kind), row.bytes); });
  }
  const auto is_done = [](const Row& row) { return row.left == 0 && !row.request; };
  if (std::ranges::all_of(out_, is_done) && std::ranges::all_of(in_, is_done)) {
    is_over_.store(true, std::memory_order_release);
  }
  return moved;
}

}  // namespace gangway::bench
