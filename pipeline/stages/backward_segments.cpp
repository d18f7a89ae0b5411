// SPDX-License-Identifier: MIT
#include "pipeline/stages/backward_segments.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

namespace gangway::pipeline {
namespace {

using Item = BackwardSegment::Item;

/// Groups the items of a trained network by network and chunk; other items stand alone.
struct Key {
  bool is_trained = false;
  ChunkId chunk_id;
  Item item;
  [[nodiscard]] auto ordered() const {
    return std::tuple(is_trained, static_cast<int>(chunk_id.network), chunk_id.chunk, item);
  }
  bool operator<(const Key& other) const { return ordered() < other.ordered(); }
};

/// Whether the node's backward gives a gradient to another node's output.
bool gives_gradient_on(const Pass& pass, int node) {
  for (int maker = 0; maker < node; ++maker) {
    if (pass.has_gradient[static_cast<std::size_t>(maker)] &&
        std::ranges::count(gradient_consumers(pass, maker), node) > 0) {
      return true;
    }
  }
  return false;
}

/// Records which of a phase's segments must come before which.
class SegmentGraph {
 public:
  SegmentGraph(const Phase& phase, const Layout& layout);
  /// Returns all segments in order. Segments that wait for each other are joined.
  [[nodiscard]] std::vector<BackwardSegment> ordered() const;

 private:
  struct Node {
    Key key;
    std::vector<Item> items;
  };
  [[nodiscard]] std::size_t segment_of(const Item& item) const { return segments_.at(item); }
  void find_items(const Phase& phase);
  /// Orders a maker's backward after those of its takers, through joins.
  void add_gradients(const Pass& pass, int index);
  /// Orders the backwards of one worker in a pass from its last node to its first.
  void add_workers(const Phase& phase, int index, const Layout& layout);
  void add_edge(std::size_t from, std::size_t to) {
    before_[from][to] = before_[from][to] || from != to;
  }
  void close();

  std::vector<Node> nodes_;
  std::map<Item, std::size_t> segments_;
  std::vector<std::vector<bool>> before_;  // [a][b]: a comes before b
};

/// Returns the item's key. A penalty part that only goes back has no leaf, because the chunk's
/// other part adds its gradients.
Key key_of(const Phase& phase, const Item& item) {
  const pipeline::Node& node =
      phase.passes[static_cast<std::size_t>(item.pass)].nodes[static_cast<std::size_t>(item.node)];
  ChunkId chunk_id;
  bool adds = true;
  if (const auto* application = std::get_if<Application>(&node)) {
    chunk_id = {application->network, application->part ? application->part->chunk : ChunkIndex()};
  } else {
    const auto& penalty = std::get<Penalty>(node);
    chunk_id = {penalty.network, penalty.part ? penalty.part->chunk : ChunkIndex()};
    adds = !penalty.part || penalty.part->goes_forward;
  }
  return adds && trains(phase, chunk_id.network)
             ? Key{.is_trained = true, .chunk_id = chunk_id, .item = {}}
             : Key{.is_trained = false, .chunk_id = chunk_id, .item = item};
}

SegmentGraph::SegmentGraph(const Phase& phase, const Layout& layout) {
  find_items(phase);
  before_.assign(nodes_.size(), std::vector<bool>(nodes_.size()));
  for (int index = 0; index < static_cast<int>(phase.passes.size()); ++index) {
    add_gradients(phase.passes[static_cast<std::size_t>(index)], index);
    add_workers(phase, index, layout);
  }
  close();
}

void SegmentGraph::find_items(const Phase& phase) {
  std::map<Key, std::size_t> known;
  for (int index = 0; index < static_cast<int>(phase.passes.size()); ++index) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(index)];
    for (int node = static_cast<int>(pass.nodes.size()); node-- > 0;) {
      if (!goes_back(pass, node)) {
        continue;
      }
      const Item item{.pass = index, .node = node};
      const Key key = key_of(phase, item);
      const auto [found, is_new] = known.emplace(key, nodes_.size());
      if (is_new) {
        nodes_.push_back({.key = key, .items = {}});
      }
      nodes_[found->second].items.push_back(item);
      segments_[item] = found->second;
    }
  }
}

void SegmentGraph::add_gradients(const Pass& pass, int index) {
  for (int maker = 0; maker < static_cast<int>(pass.nodes.size()); ++maker) {
    if (!goes_back(pass, maker)) {
      continue;
    }
    std::vector<int> takers = gradient_consumers(pass, maker);
    while (!takers.empty()) {
      const int taker = takers.back();
      takers.pop_back();
      if (goes_back(pass, taker)) {
        add_edge(segment_of({index, taker}), segment_of({index, maker}));
        continue;
      }
      const std::vector<int> further = gradient_consumers(pass, taker);
      takers.insert(takers.end(), further.begin(), further.end());
    }
  }
}

void SegmentGraph::add_workers(const Phase& phase, int index, const Layout& layout) {
  const Pass& pass = phase.passes[static_cast<std::size_t>(index)];
  const int microbatches = layout.begin()->ranges.back().end;
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
    const auto owners = owners_of(pass, layout, microbatch);
    for (int later = 0; later < static_cast<int>(pass.nodes.size()); ++later) {
      for (int earlier = 0; earlier < later && goes_back(pass, later); ++earlier) {
        if (goes_back(pass, earlier) &&
            owners[static_cast<std::size_t>(later)] == owners[static_cast<std::size_t>(earlier)]) {
          add_edge(segment_of({index, later}), segment_of({index, earlier}));
        }
      }
    }
  }
}

void SegmentGraph::close() {
  for (std::size_t by = 0; by < nodes_.size(); ++by) {
    for (std::size_t from = 0; from < nodes_.size(); ++from) {
      for (std::size_t to = 0; to < nodes_.size(); ++to) {
        before_[from][to] = before_[from][to] || (before_[from][by] && before_[by][to]);
      }
    }
  }
}

std::vector<BackwardSegment> SegmentGraph::ordered() const {
  std::vector<BackwardSegment> result;
  std::vector<bool> is_placed(nodes_.size());
  const auto is_next = [&](std::size_t segment) {
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
      if (before_[other][segment] && !before_[segment][other] && !is_placed[other]) {
        return false;
      }
    }
    return !is_placed[segment];
  };
  for (std::size_t count = 0; count < nodes_.size();) {
    std::size_t first = 0;
    while (!is_next(first)) {
      ++first;
    }
    BackwardSegment& joined = result.emplace_back();
    for (std::size_t segment = 0; segment < nodes_.size(); ++segment) {
      if (segment == first || (before_[first][segment] && before_[segment][first])) {
        is_placed[segment] = true;
        ++count;
        const Node& node = nodes_[segment];
        joined.items.insert(joined.items.end(), node.items.begin(), node.items.end());
        if (node.key.is_trained) {
          joined.trained.push_back(node.key.chunk_id);
        }
      }
    }
    std::ranges::sort(joined.items, [](const Item& a, const Item& b) {
      return std::tuple(a.pass, -a.node) < std::tuple(b.pass, -b.node);
    });
  }
  return result;
}

}  // namespace

bool can_be_split(const Phase& phase, const BackwardSegment& segment) {
  return !segment.trained.empty() && std::ranges::all_of(segment.items, [&](const Item& item) {
    const Pass& pass = phase.passes[static_cast<std::size_t>(item.pass)];
    return std::holds_alternative<Application>(node_of(pass, item.node)) &&
           gives_gradient_on(pass, item.node);
  });
}

std::vector<BackwardSegment> backward_segments(const Phase& phase, const Layout& layout) {
  return SegmentGraph(phase, layout).ordered();
}

}  // namespace gangway::pipeline
