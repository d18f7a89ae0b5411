// SPDX-License-Identifier: MIT
#include "pipeline/stages/list_writer.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace gangway::pipeline {

ListWriter::ListWriter(const PassShares& shares, const std::vector<StageUnit>& units,
                       Overlap overlap)
    : shares_(shares), local_(shares.local()), overlap_(overlap) {
  units_.reserve(units.size());
  for (const StageUnit& unit : units) {
    begin(unit);
  }
}

void ListWriter::use(Operation operation, NetworkId network) {
  await(network);
  add(operation, network);
}

void ListWriter::await(NetworkId network) {
  if (under_way(network)) {
    list_.push_back({.operation = Operation::kAwait,
                     .network = network,
                     .phase = at_.phase,
                     .repeat = at_.repeat});
    under_way(network) = false;
  }
}

void ListWriter::add(Operation operation, NetworkId network) {
  Instruction instruction = at_;
  instruction.operation = operation;
  instruction.network = network;
  list_.push_back(instruction);
}

void ListWriter::cross(Operation operation, const Crossing& crossing) {
  at_.node = crossing.node;
  at_.peer = crossing.peer;
  add(operation, {});
  at_.peer = -1;
}

void ListWriter::write(const StagePiece& piece) {
  UnitProgress& unit = units_.at(static_cast<std::size_t>(piece.unit));
  const Phase& phase = *unit.unit->phase;
  turn_to(unit);
  at_.is_ahead = piece.kind != StagePiece::Kind::kLeaf;
  at_.microbatch = piece.microbatch;
  at_.pass = piece.pass;
  switch (piece.kind) {
    case StagePiece::Kind::kForward:
      return write_forward(phase.passes[static_cast<std::size_t>(piece.pass)], piece.index);
    case StagePiece::Kind::kSegment: {
      const auto& segment = unit.unit->segments[static_cast<std::size_t>(piece.index)];
      return segment.is_split ? write_inputs(phase, segment) : write_segment(phase, segment);
    }
    case StagePiece::Kind::kWeights:
      return write_weights(phase, unit.unit->segments[static_cast<std::size_t>(piece.index)]);
    case StagePiece::Kind::kLeaf:
      return write_leaf(phase);
    case StagePiece::Kind::kEnd:
      return end(unit);
  }
}

bool ListWriter::has_leaf(const ChunkId& chunk_id) const {
  const NetworkGroup& group = shares_.layout()[chunk_id.network];
  return group.chunk_of(shares_.worker()) == chunk_id.chunk &&
         group.range_of(shares_.worker()).contains({at_.microbatch, at_.microbatch + 1});
}

void ListWriter::turn_to(UnitProgress& unit) {
  now_ = &unit;
  at_ = {.phase = unit.unit->phase->index, .repeat = unit.unit->repeat};
}

void ListWriter::begin(const StageUnit& unit) {
  const Phase& phase = *unit.phase;
  UnitProgress& begun = units_.emplace_back(UnitProgress{.unit = &unit});
  turn_to(begun);
  for (at_.pass = 0; at_.pass < static_cast<int>(phase.passes.size()); ++at_.pass) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(at_.pass)];
    for (at_.microbatch = local_.begin; at_.microbatch < local_.end; ++at_.microbatch) {
      PassProgress& one = begun.passes[{at_.pass, at_.microbatch}];
      std::ranges::copy_if(share().sends, std::back_inserter(one.wanted), &Crossing::has_gradient);
      std::ranges::copy_if(share().receives, std::back_inserter(one.owed), &Crossing::has_gradient);
      std::ranges::stable_sort(one.wanted, std::greater(), &Crossing::last_consumer);
      std::ranges::stable_sort(one.owed, std::greater(), &Crossing::last_consumer);
      for (int node = static_cast<int>(pass.nodes.size()); node-- > 0;) {
        if (share().mine[static_cast<std::size_t>(node)] && goes_back(pass, node)) {
          one.backwards.push_back(node);
        }
      }
    }
  }
}

void ListWriter::receive_until(int node) {
  const std::vector<Crossing>& receives = share().receives;
  std::size_t& received = progress().received;
  for (; received < receives.size() && receives[received].node < node; ++received) {
    cross(Operation::kReceive, receives[received]);
  }
}

void ListWriter::await_looked_at(const Pass& pass, int node) {
  for (int before = 0; before <= node; ++before) {
    if (!share().mine[static_cast<std::size_t>(before)]) {
      continue;
    }
    if (const auto* running = std::get_if<Running>(&node_of(pass, before))) {
      await(running->network);
    } else if (const auto* augment = std::get_if<Augment>(&node_of(pass, before))) {
      await(augment->judge);
    } else if (const auto* application = std::get_if<Application>(&node_of(pass, before))) {
      std::ranges::for_each(application->beside, [this](NetworkId one) { await(one); });
    }
  }
}

void ListWriter::write_forward(const Pass& pass, int node) {
  progress().forward = node + 1;
  const bool is_mine = share().mine[static_cast<std::size_t>(node)];
  const auto sends = [&](const Crossing& one) { return one.node == node; };
  const bool is_sent = std::ranges::any_of(share().sends, sends);
  const auto* application = std::get_if<Application>(&node_of(pass, node));
  const auto* penalty = std::get_if<Penalty>(&node_of(pass, node));
  if (!is_mine || (application == nullptr && penalty == nullptr && !is_sent)) {
    return;
  }
  await_looked_at(pass, node);
  receive_until(node);
  at_.node = node;
  if (application != nullptr) {
    use(Operation::kForward, application->network);
  } else if (penalty != nullptr) {
    use(Operation::kPenaltyForward, penalty->network);
  }
  for (const Crossing& sent : share().sends) {
    if (sent.node == node) {
      cross(Operation::kSend, sent);
    }
  }
}

void ListWriter::write_backward(const Pass& pass, int node, BackwardPart part) {
  receive_until(static_cast<int>(pass.nodes.size()));
  PassProgress& now = progress();
  // Backward no longer needs tensors made after this node.
  while (!now.wanted.empty() &&
         std::ranges::any_of(now.wanted, [&](const Crossing& one) { return one.node >= node; })) {
    cross(Operation::kReceiveGradient, now.wanted.front());
    now.wanted.erase(now.wanted.begin());
  }
  const auto send_behind = [&](int least) {
    while (!now.owed.empty() && now.owed.front().last_consumer >= least) {
      cross(Operation::kSendGradient, now.owed.front());
      now.owed.erase(now.owed.begin());
    }
  };
  send_behind(node + 1);
  at_.node = node;
  if (const auto* penalty = std::get_if<Penalty>(&node_of(pass, node))) {
    add(Operation::kPenaltyBackward, penalty->network);
  } else {
    add(Operation::kBackward, std::get<Application>(node_of(pass, node)).network);
    list_.back().part = part;
  }
  std::erase(now.backwards, node);
  // Sends gradients that joins and losses before the next backward give without an instruction.
  send_behind(now.backwards.empty() ? 0 : now.backwards.front() + 1);
}

void ListWriter::write_leaf(const Phase& phase) {
  std::vector<ChunkId> trained;  // whole networks, because no network is cut
  for (const NetworkId network : phase.networks) {
    trained.push_back({.network = network});
  }
  write_leaves(Operation::kOpenLeaf, trained);
  for (at_.pass = 0; at_.pass < static_cast<int>(phase.passes.size()); ++at_.pass) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(at_.pass)];
    const auto nodes = static_cast<int>(pass.nodes.size());
    if (!share().takes_part) {
      continue;
    }
    for (int node = progress().forward; node < nodes; ++node) {
      write_forward(pass, node);
    }
    for (const int node : std::vector<int>(progress().backwards)) {
      write_backward(pass, node);
    }
    write_rest(pass);
  }
  write_leaves(Operation::kCloseLeaf, trained);
}

void ListWriter::write_leaves(Operation operation, const std::vector<ChunkId>& trained) {
  at_.pass = 0;
  at_.node = 0;
  for (const ChunkId& chunk_id : trained) {
    if (has_leaf(chunk_id)) {
      use(operation, chunk_id.network);
    }
  }
}

void ListWriter::write_inputs(const Phase& phase, const BackwardSegment& segment) {
  for (const BackwardSegment::Item& item : segment.items) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(item.pass)];
    at_.pass = item.pass;
    if (share().mine[static_cast<std::size_t>(item.node)]) {
      write_backward(pass, item.node, BackwardPart::kInputs);
    }
  }
}

void ListWriter::write_weights(const Phase& phase, const BackwardSegment& segment) {
  write_leaves(Operation::kOpenLeaf, segment.trained);
  for (const BackwardSegment::Item& item : segment.items) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(item.pass)];
    at_.pass = item.pass;
    if (share().mine[static_cast<std::size_t>(item.node)]) {
      at_.node = item.node;
      add(Operation::kBackward, std::get<Application>(node_of(pass, item.node)).network);
      list_.back().part = BackwardPart::kWeights;
    }
  }
  write_leaves(Operation::kCloseLeaf, segment.trained);
}

void ListWriter::write_segment(const Phase& phase, const BackwardSegment& segment) {
  write_leaves(Operation::kOpenLeaf, segment.trained);
  for (auto item = segment.items.begin(); item != segment.items.end(); ++item) {
    at_.pass = item->pass;
    if (!share().mine[static_cast<std::size_t>(item->node)]) {
      continue;
    }
    const Pass& pass = phase.passes[static_cast<std::size_t>(item->pass)];
    const bool is_first = item == segment.items.begin() || std::prev(item)->pass != item->pass;
    for (int node = first_penalty(pass); is_first && node < static_cast<int>(pass.nodes.size());
         ++node) {
      write_forward(pass, node);
    }
    write_backward(pass, item->node);
  }
  write_leaves(Operation::kCloseLeaf, segment.trained);
}

void ListWriter::write_rest(const Pass& pass) {
  receive_until(static_cast<int>(pass.nodes.size()));
  for (const Crossing& one : std::exchange(progress().wanted, {})) {
    cross(Operation::kReceiveGradient, one);
  }
  for (const Crossing& one : std::exchange(progress().owed, {})) {
    cross(Operation::kSendGradient, one);
  }
}

void ListWriter::write_updates(const Phase& phase) {
  for (const NetworkId network : phase.networks) {
    if (shares_.layout()[network].has(shares_.worker())) {
      use(Operation::kReduce, network);
      under_way(network) = true;
      if (overlap_ != Overlap::kAcross) {
        await(network);
      }
    }
  }
}

void ListWriter::end(UnitProgress& unit) {
  const Phase& phase = *unit.unit->phase;
  for (at_.pass = 0; at_.pass < static_cast<int>(phase.passes.size()); ++at_.pass) {
    for (at_.microbatch = local_.begin; at_.microbatch < local_.end; ++at_.microbatch) {
      write_rest(phase.passes[static_cast<std::size_t>(at_.pass)]);
    }
  }
  turn_to(unit);
  write_updates(phase);
}

}  // namespace gangway::pipeline
