// SPDX-License-Identifier: MIT
#include "pipeline/apart_schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/errors.hpp"
#include "pipeline/list_writer.hpp"

namespace gangway::pipeline {
namespace {

const Crossing* crossing_of(const std::vector<Crossing>& crossings, int node) {
  const auto found = std::ranges::find(crossings, node, &Crossing::node);
  return found == crossings.end() ? nullptr : &*found;
}

/// Nodes before this one need nothing of other workers.
int first_received(const PassShare& share) {
  return share.receives.empty() ? static_cast<int>(share.mine.size()) : share.receives.front().node;
}

/// Writes one step of one worker.
class ApartWriter : public ListWriter {
 public:
  ApartWriter(const PassShares& shares, Overlap overlap) : ListWriter(overlap), shares_(shares) {}

  void write_repeat(const Phase& phase, int repeat);

 private:
  [[nodiscard]] bool holds(NetworkId network) const {
    return shares_.layout()[network].has(shares_.worker());
  }
  [[nodiscard]] bool has_leaf(NetworkId network, int microbatch) const {
    return shares_.layout()[network]
        .range_of(shares_.worker())
        .contains({microbatch, microbatch + 1});
  }
  [[nodiscard]] MicrobatchRange local() const { return shares_.local(); }
  [[nodiscard]] const PassShare& share() const {
    return shares_.of(at_.phase, at_.pass, at_.microbatch);
  }
  [[nodiscard]] std::vector<int> order_ahead(const Phase& phase) const;
  [[nodiscard]] int end_ahead(const Phase& phase) const;
  void write_ahead(const Phase& phase);
  void write_leaves(const Phase& phase);
  /// Nodes [begin, end) of the pass.
  void write_forward(const Pass& pass, int begin, int end);
  void write_backward(const Pass& pass);

  const PassShares& shares_;
};

void ApartWriter::write_forward(const Pass& pass, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    const Node& node = pass.nodes[static_cast<std::size_t>(i)];
    if (const Crossing* received = crossing_of(share().receives, i)) {
      cross(Operation::kReceive, *received);
    }
    at_.node = i;
    const bool is_mine = share().mine[static_cast<std::size_t>(i)];
    if (const auto* application = std::get_if<Application>(&node); is_mine && application) {
      use(Operation::kForward, application->network);
    } else if (const auto* penalty = std::get_if<Penalty>(&node); is_mine && penalty) {
      use(Operation::kPenaltyForward, penalty->network);
    }
    for (const Crossing& sent : share().sends) {
      if (sent.node == i) {
        cross(Operation::kSend, sent);
      }
    }
  }
  at_.node = 0;
}

void ApartWriter::write_backward(const Pass& pass) {
  for (int i = static_cast<int>(pass.nodes.size()); i-- > 0;) {
    const auto index = static_cast<std::size_t>(i);
    for (const Crossing& sent : share().sends) {  // the peer's part of a sum, at its place
      if (sent.has_gradient && sent.last_taker == i) {
        cross(Operation::kReceiveGradient, sent);
      }
    }
    at_.node = i;
    const bool is_mine = share().mine[index];
    if (const auto* penalty = std::get_if<Penalty>(&pass.nodes[index]); is_mine && penalty) {
      add(Operation::kPenaltyBackward, penalty->network);
    } else if (const auto* application = std::get_if<Application>(&pass.nodes[index]);
               is_mine && application && pass.has_gradient[index]) {
      add(Operation::kBackward, application->network);
    }
    for (const Crossing& received : share().receives) {
      // At once: between here and its maker others may wait for who waits for it.
      if (received.has_gradient && received.last_taker == i) {
        cross(Operation::kSendGradient, received);
      }
    }
  }
  at_.node = 0;
}

/// Each receiver's first micro-batch, then each one's second: all of them have work soonest.
std::vector<int> ApartWriter::order_ahead(const Phase& phase) const {
  std::map<int, int> place;  // among those of one receiver
  std::map<int, int> sent;   // to each
  std::vector<int> order;
  for (int microbatch = local().begin; microbatch < local().end; ++microbatch) {
    order.push_back(microbatch);
    for (std::size_t pass = 0; pass < phase.passes.size(); ++pass) {
      const PassShare& one = shares_.of(phase.index, static_cast<int>(pass), microbatch);
      if (!one.sends.empty() && !place.contains(microbatch)) {
        place[microbatch] = sent[one.sends.front().peer]++;
      }
    }
  }
  std::ranges::stable_sort(order, {}, [&](int microbatch) { return place[microbatch]; });
  return order;
}

/// How many nodes of the pass are carried out ahead: what others wait for, and where this worker
/// waits for others, what it can do meanwhile.
int ApartWriter::end_ahead(const Phase& phase) const {
  bool waits = false;
  for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
    waits = waits || !shares_.of(at_.phase, pass, at_.microbatch).receives.empty();
  }
  if (share().sends.empty() && (share().crosses() || !waits)) {
    return 0;
  }
  const Pass& pass = phase.passes[static_cast<std::size_t>(at_.pass)];
  return std::min(first_received(share()), first_penalty(pass));
}

void ApartWriter::write_ahead(const Phase& phase) {
  for (const int microbatch : order_ahead(phase)) {
    at_.microbatch = microbatch;
    at_.is_ahead = true;
    for (at_.pass = 0; at_.pass < static_cast<int>(phase.passes.size()); ++at_.pass) {
      write_forward(phase.passes[static_cast<std::size_t>(at_.pass)], 0, end_ahead(phase));
    }
    at_.is_ahead = false;
  }
}

void ApartWriter::write_leaves(const Phase& phase) {
  for (int microbatch = local().begin; microbatch < local().end; ++microbatch) {
    at_.microbatch = microbatch;
    at_.pass = 0;
    for (const NetworkId network : phase.networks) {
      if (has_leaf(network, microbatch)) {
        use(Operation::kOpenLeaf, network);
      }
    }
    for (const Pass& pass : phase.passes) {
      if (share().takes_part) {
        write_forward(pass, end_ahead(phase), static_cast<int>(pass.nodes.size()));
        write_backward(pass);
      }
      ++at_.pass;
    }
    at_.pass = 0;
    for (const NetworkId network : phase.networks) {
      if (has_leaf(network, microbatch)) {
        add(Operation::kCloseLeaf, network);
      }
    }
  }
}

void ApartWriter::write_repeat(const Phase& phase, int repeat) {
  at_ = {.phase = phase.index, .repeat = repeat};
  write_ahead(phase);
  write_leaves(phase);
  at_.microbatch = -1;
  at_.pass = 0;
  for (const NetworkId network : phase.networks) {
    if (holds(network)) {
      use(Operation::kReduce, network);
      under_way(network) = true;
      if (overlap_ != Overlap::kAcross) {
        await(network);
      }
    }
  }
}

}  // namespace

std::vector<Instruction> apart_schedule(const PassShares& shares, std::int64_t step,
                                        Overlap overlap) {
  ApartWriter writer(shares, overlap);
  for (const Phase& phase : shares.phases()) {
    for (int repeat = 0; runs_in(phase, step) && repeat < phase.repeats; ++repeat) {
      writer.write_repeat(phase, repeat);
    }
  }
  return with_updates_marked(shares.phases(), writer.take(), overlap);
}

std::vector<int> microbatches_with_reals(const PassShares& shares,
                                         const std::vector<Instruction>& list) {
  std::vector<int> order;
  const bool takes_several = std::ranges::any_of(shares.phases(), [](const Phase& phase) {
    return phase.takes_reals && phase.first_reals + phase.repeats > 1;
  });
  for (const Instruction& one : list) {
    if (one.microbatch < 0 || one.operation == Operation::kOpenLeaf ||
        one.operation == Operation::kCloseLeaf) {
      continue;
    }
    const Phase& phase = shares.phases()[static_cast<std::size_t>(one.phase)];
    const Pass& pass = phase.passes[static_cast<std::size_t>(one.pass)];
    const PassShare& share = shares.of(one.phase, one.pass, one.microbatch);
    for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
      const bool is_reached =
          static_cast<int>(i) < one.node || one.goes_back() || one.carries_gradient();
      if (!share.mine[i] || !is_reached || !std::holds_alternative<Reals>(pass.nodes[i])) {
        continue;
      }
      if (std::ranges::find(order, one.microbatch) != order.end()) {
        continue;
      }
      if (phase.takes_reals || !takes_several) {
        order.push_back(one.microbatch);
      } else {
        throw ConfigError("phase " + phase.name +
                          " looks at real examples on a worker that sees none in an earlier "
                          "phase: place the networks on the same workers (layout)");
      }
    }
  }
  return order;
}

}  // namespace gangway::pipeline
