// SPDX-License-Identifier: MIT
#include "pipeline/pass_share.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/errors.hpp"

namespace gangway::pipeline {
namespace {

using ChunkIds = std::vector<std::optional<ChunkId>>;

/// Returns the place of a node that belongs to a network; none for other nodes.
std::optional<ChunkId> own_chunk_id(const Node& node) {
  if (const auto* application = std::get_if<Application>(&node)) {
    return ChunkId{application->network,
                   application->part ? application->part->chunk : ChunkIndex()};
  }
  if (const auto* penalty = std::get_if<Penalty>(&node)) {
    return ChunkId{penalty->network, penalty->part ? penalty->part->chunk : ChunkIndex()};
  }
  if (const auto* shown = std::get_if<Shown>(&node)) {
    return ChunkId{shown->network, shown->chunk};
  }
  if (const auto* augment = std::get_if<Augment>(&node)) {
    return ChunkId{augment->judge};
  }
  if (const auto* running = std::get_if<Running>(&node)) {
    return ChunkId{running->network, running->chunk};
  }
  return std::nullopt;
}

/// Whether the node takes no tensor and gives the same result on every worker.
bool is_source(const Node& node) {
  return std::holds_alternative<Draw>(node) || std::holds_alternative<Reals>(node) ||
         std::holds_alternative<StylePicture>(node);
}

bool stops_gradient(const Node& node) {
  const auto* join = std::get_if<Join>(&node);
  return std::holds_alternative<Pool>(node) || (join != nullptr && join->function == kDetached);
}

bool takes(const Node& node, const std::string& tensor) {
  return std::ranges::count(inputs_of(node), tensor) > 0;
}

/// Places a join on its taker's worker, so that only the joined tensor travels.
void place_by_takers(const Pass& pass, ChunkIds& chunk_ids) {
  for (int i = static_cast<int>(pass.nodes.size()); i-- > 0;) {
    const auto at = static_cast<std::size_t>(i);
    if (chunk_ids[at] || is_source(pass.nodes[at]) ||
        std::holds_alternative<Loss>(pass.nodes[at])) {
      continue;
    }
    for (const int taker : consumers_of(pass, i)) {
      if (!chunk_ids[at]) {
        chunk_ids[at] = chunk_ids[static_cast<std::size_t>(taker)];
      }
    }
  }
}

/// Places a node at the last place from which it takes a tensor.
void place_by_inputs(const Pass& pass, ChunkIds& chunk_ids) {
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    if (chunk_ids[i] || is_source(pass.nodes[i])) {
      continue;
    }
    for (std::size_t maker = i; maker-- > 0 && !chunk_ids[i];) {
      const std::vector<std::string> made = outputs_of(pass.nodes[maker]);
      if (std::ranges::any_of(made, [&](const auto& one) { return takes(pass.nodes[i], one); })) {
        chunk_ids[i] = chunk_ids[maker];
      }
    }
    if (const auto* loss = std::get_if<Loss>(&pass.nodes[i]); loss != nullptr && !chunk_ids[i]) {
      chunk_ids[i] = ChunkId{loss->shown_with.value_or(NetworkId{0})};
    }
  }
}

/// Checks that sums keep their bits. A worker sends its gradients of a tensor as their sum; that is
/// part of one worker's sum only if they come first in it, or are a single gradient.
void require_same_sums(const Phase& phase, const Pass& pass,
                       const std::vector<std::optional<int>>& owners) {
  for (int maker = 0; maker < static_cast<int>(pass.nodes.size()); ++maker) {
    const auto owner = owners[static_cast<std::size_t>(maker)];
    std::map<int, std::vector<std::size_t>> places;  // in the order of the sum, by worker
    const std::vector<int> takers = gradient_consumers(pass, maker);
    for (std::size_t i = 0; i < takers.size(); ++i) {
      places[owners[static_cast<std::size_t>(takers[i])].value_or(-1)].push_back(i);
    }
    for (const auto& [worker, at] : places) {
      if (owner && worker != *owner && at.size() > 1 && at.back() + 1 != at.size()) {
        throw ConfigError("pass " + pass.name + " of phase " + phase.name +
                          " adds gradients in an order that separate workers cannot keep: "
                          "place these networks on the same workers (layout)");
      }
    }
  }
}

/// Returns the outputs of `maker` that worker `taker_worker` takes; none if there are none.
std::optional<Crossing> crossing(const Pass& pass, const std::vector<std::optional<int>>& owners,
                                 int maker, int taker_worker, int peer) {
  const auto is_there = [&](int taker) {
    return owners[static_cast<std::size_t>(taker)] == taker_worker;
  };
  std::vector<int> takers = consumers_of(pass, maker);
  std::erase_if(takers, [&](int taker) { return !is_there(taker); });
  if (takers.empty()) {
    return std::nullopt;
  }
  Crossing found{.node = maker, .peer = peer};
  const std::vector<std::string> outputs = outputs_of(pass.nodes[static_cast<std::size_t>(maker)]);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (std::ranges::any_of(takers, [&](int taker) {
          return takes(pass.nodes[static_cast<std::size_t>(taker)], outputs[i]);
        })) {
      found.outputs.push_back(static_cast<int>(i));
    }
  }
  for (const int taker : gradient_consumers(pass, maker)) {
    if (is_there(taker)) {
      found.has_gradient = true;
      found.last_consumer = taker;
    }
  }
  return found;
}

/// Returns how many of the pass's first nodes one phase makes and another takes.
int recalled_nodes(const std::vector<Phase>& phases, int phase, int pass) {
  const Pass& self = phases[static_cast<std::size_t>(phase)].passes[static_cast<std::size_t>(pass)];
  return std::max(self.recall ? self.recall->nodes : 0, nodes_taken_up(phases, phase, pass));
}

PassShare share_of(const Pass& pass, const std::vector<std::optional<int>>& owners, int worker,
                   int recalled) {
  PassShare share{.mine = std::vector<bool>(pass.nodes.size())};
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    share.mine[i] = owners[i] == worker;
    share.takes_part = share.takes_part || share.mine[i];
  }
  for (int i = static_cast<int>(pass.nodes.size()); i-- > 0;) {
    const auto at = static_cast<std::size_t>(i);
    if (!owners[at]) {  // in reverse: a node of several workers is needed with its taker
      share.mine[at] = (share.takes_part && i < recalled) ||
                       std::ranges::any_of(consumers_of(pass, i), [&](int taker) {
                         return share.mine[static_cast<std::size_t>(taker)];
                       });
      continue;
    }
    if (!share.mine[at]) {
      if (auto found = crossing(pass, owners, i, worker, *owners[at])) {
        share.receives.insert(share.receives.begin(), std::move(*found));
      }
      continue;
    }
    std::vector<int> peers;
    for (const int taker : consumers_of(pass, i)) {
      const auto peer = owners[static_cast<std::size_t>(taker)];
      if (peer && *peer != worker) {
        peers.push_back(*peer);
      }
    }
    std::ranges::sort(peers, std::greater());
    peers.erase(std::ranges::unique(peers).begin(), peers.end());
    for (const int peer : peers) {
      share.sends.insert(share.sends.begin(), *crossing(pass, owners, i, peer, peer));
    }
  }
  return share;
}

}  // namespace

std::vector<int> consumers_of(const Pass& pass, int maker) {
  const std::vector<std::string> outputs = outputs_of(pass.nodes[static_cast<std::size_t>(maker)]);
  std::vector<int> takers;
  for (int i = maker + 1; i < static_cast<int>(pass.nodes.size()); ++i) {
    const Node& node = pass.nodes[static_cast<std::size_t>(i)];
    if (std::ranges::any_of(outputs, [&](const std::string& one) { return takes(node, one); })) {
      takers.push_back(i);
    }
  }
  return takers;
}

ChunkIds chunk_ids_of(const Pass& pass) {
  ChunkIds chunk_ids;
  for (const Node& node : pass.nodes) {
    chunk_ids.push_back(own_chunk_id(node));
  }
  place_by_takers(pass, chunk_ids);
  place_by_inputs(pass, chunk_ids);
  return chunk_ids;
}

std::vector<std::optional<int>> owners_of(const Pass& pass, const Layout& layout, int microbatch) {
  std::vector<std::optional<int>> owners;
  for (const std::optional<ChunkId>& chunk_id : chunk_ids_of(pass)) {
    owners.push_back(
        chunk_id ? std::optional(layout[chunk_id->network].worker_of(microbatch, chunk_id->chunk))
                 : std::nullopt);
  }
  return owners;
}

std::vector<int> gradient_consumers(const Pass& pass, int maker) {
  std::vector<int> takers = consumers_of(pass, maker);
  std::erase_if(takers, [&](int taker) {
    const auto at = static_cast<std::size_t>(taker);
    return !pass.has_gradient[at] || stops_gradient(pass.nodes[at]);
  });
  if (!pass.has_gradient[static_cast<std::size_t>(maker)]) {
    takers.clear();
  }
  std::ranges::reverse(takers);
  return takers;
}

bool goes_back(const Pass& pass, int node) {
  const auto at = static_cast<std::size_t>(node);
  return std::holds_alternative<Penalty>(pass.nodes[at]) ||
         (std::holds_alternative<Application>(pass.nodes[at]) && pass.has_gradient[at]);
}

int first_penalty(const Pass& pass) {
  const auto found = std::ranges::find_if(pass.nodes, [](const Node& node) {
    const auto* penalty = std::get_if<Penalty>(&node);
    return penalty != nullptr && !penalty->part;
  });
  return static_cast<int>(found - pass.nodes.begin());
}

int PassShare::num_instructions(const Pass& pass) const {
  int count = 0;
  for (std::size_t i = 0; i < pass.nodes.size(); ++i) {
    if (mine[i] && std::holds_alternative<Application>(pass.nodes[i])) {
      count += pass.has_gradient[i] ? 2 : 1;
    } else if (mine[i] && std::holds_alternative<Penalty>(pass.nodes[i])) {
      count += 2;
    }
  }
  for (const std::vector<Crossing>* crossings : {&sends, &receives}) {
    for (const Crossing& one : *crossings) {
      count += one.has_gradient ? 2 : 1;
    }
  }
  return count;
}

PassShares::PassShares(const std::vector<Phase>& phases, Layout layout, int worker)
    : phases_(phases), layout_(std::move(layout)), worker_(worker) {
  if (!are_apart()) {
    const MicrobatchRange range = local();
    for (const Phase& phase : phases) {
      for (std::size_t pass = 0; pass < phase.passes.size(); ++pass) {
        const std::size_t nodes = phase.passes[pass].nodes.size();
        for (int microbatch = range.begin; microbatch < range.end; ++microbatch) {
          shares_.emplace(std::tuple(phase.index, static_cast<int>(pass), microbatch),
                          PassShare{.mine = std::vector<bool>(nodes, true), .takes_part = true});
        }
      }
    }
    return;
  }
  if (!pools_of(phases).empty()) {
    throw ConfigError(
        "image pools (training.pool) stay with the workers that make their images: place all "
        "networks on the same workers (layout), or use training.pool 0");
  }
  const int microbatches = layout_.begin()->ranges.back().end;
  for (const Phase& phase : phases) {
    for (int pass = 0; pass < static_cast<int>(phase.passes.size()); ++pass) {
      const Pass& graph = phase.passes[static_cast<std::size_t>(pass)];
      const int recalled = recalled_nodes(phases, phase.index, pass);
      for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
        const auto owners = owners_of(graph, layout_, microbatch);
        require_same_sums(phase, graph, owners);
        shares_.emplace(std::tuple(phase.index, pass, microbatch),
                        share_of(graph, owners, worker, recalled));
      }
    }
  }
}

std::set<std::pair<int, int>> PassShares::edges() const {
  std::set<std::pair<int, int>> edges;
  for (const auto& [place, share] : shares_) {
    for (const Crossing& sent : share.sends) {
      edges.emplace(worker_, sent.peer);
      if (sent.has_gradient) {
        edges.emplace(sent.peer, worker_);
      }
    }
    for (const Crossing& received : share.receives) {
      edges.emplace(received.peer, worker_);
      if (received.has_gradient) {
        edges.emplace(worker_, received.peer);
      }
    }
  }
  return edges;
}

std::vector<int> PassShares::peers() const {
  std::set<int> peers;
  for (const auto& [place, share] : shares_) {
    for (const std::vector<Crossing>* crossings : {&share.sends, &share.receives}) {
      for (const Crossing& one : *crossings) {
        peers.insert(one.peer);
      }
    }
  }
  return {peers.begin(), peers.end()};
}

}  // namespace gangway::pipeline
