// SPDX-License-Identifier: MIT
#include "job/models/narrowing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <variant>

namespace gangway {
namespace {

/// Channels that several tensors share.
struct Axis {
  std::int64_t wide;
  std::int64_t narrow;
  std::int64_t group = 1;  ///< channels that stay together
};

/// A tensor's dimension that is an axis.
struct Use {
  std::string tensor;
  std::size_t dim;
  std::size_t axis;
  bool is_filter;  ///< whether its slices make the channels, so that their size counts
};

/// Finds the axes of two networks of a family, block by block.
class Coupling {
 public:
  Coupling(const Architecture& wide, const Architecture& narrow) {
    for (; block_ < std::min(wide.blocks.size(), narrow.blocks.size()); ++block_) {
      std::visit(
          [&]<typename Spec>(const Spec& spec) {
            if constexpr (requires { this->add(spec, spec); }) {
              add(spec, std::get<Spec>(narrow.blocks[block_]));
            } else {
              complaint_ = kUnknown;
            }
          },
          wide.blocks[block_]);
    }
  }

  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  [[nodiscard]] const std::vector<Use>& uses() const { return uses_; }

 private:
  static constexpr const char* kUnknown = "the channels of its blocks are not known";

  // The blocks whose channels are known.
  void add(const LabelConcatenationSpec& /*wide*/, const LabelConcatenationSpec& /*narrow*/) {}
  void add(const LabelEmbeddingSpec& /*wide*/, const LabelEmbeddingSpec& /*narrow*/) {}

  void add(const LayerSpec& wide, const LayerSpec& narrow) {
    const std::size_t in = current({wide.in, narrow.in});
    const std::size_t out = new_axis({wide.out, narrow.out});
    const bool is_transposed = wide.kind == LayerKind::kTransposedConvolution;
    filter("weight", is_transposed ? 1 : 0, out);
    slice("weight", is_transposed ? 0 : 1, in);
    for (const char* name :
         {"bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"}) {
      slice(name, 0, out);
    }
    current_ = out;
  }

  void add(const GenerativeBasisSpec& wide, const GenerativeBasisSpec& narrow) {
    current_ = new_axis({wide.channels, narrow.channels});
    filter("basis", 0, *current_);
    filter("weight", 0, *current_);
  }

  void add(const ResidualSpec& wide, const ResidualSpec& narrow) {
    const std::size_t sum = current({wide.channels, narrow.channels});
    const std::int64_t group = wide.expanded / wide.groups;
    if (group != narrow.expanded / narrow.groups) {
      complaint_ = "the teacher's grouped convolutions have groups of another size";
    }
    const std::size_t inner = new_axis({wide.expanded, narrow.expanded, group});
    filter("expand.weight", 0, inner);
    slice("expand.weight", 1, sum);
    slice("expand.bias", 0, inner);
    filter("grouped.weight", 0, inner);
    slice("grouped.bias", 0, inner);
    filter("contract.weight", 0, sum);
    slice("contract.weight", 1, inner);
  }

  void add(const ResamplingSpec& wide, const ResamplingSpec& narrow) {
    const std::size_t in = current({wide.in, narrow.in});
    if (wide.in != wide.out) {
      current_ = new_axis({wide.out, narrow.out});
      filter("weight", 0, *current_);
      slice("weight", 1, in);
    }
  }

  std::size_t new_axis(const Axis& axis) {
    if (axis.wide < axis.narrow) {
      complaint_ = "the teacher has fewer channels";
    }
    axes_.push_back(axis);
    return axes_.size() - 1;
  }

  /// Returns the axis of the features that reach the block.
  std::size_t current(const Axis& expected) {
    current_ = current_ ? current_ : new_axis(expected);
    const Axis& axis = axes_[*current_];
    if (axis.wide != expected.wide || axis.narrow != expected.narrow) {
      complaint_ = kUnknown;  // features are arranged anew between the blocks
    }
    return *current_;
  }

  void filter(const char* tensor, std::size_t dim, std::size_t axis) {
    uses_.push_back({std::to_string(block_) + "/" + tensor, dim, axis, true});
  }
  void slice(const char* tensor, std::size_t dim, std::size_t axis) {
    uses_.push_back({std::to_string(block_) + "/" + tensor, dim, axis, false});
  }

  std::size_t block_ = 0;
  std::optional<std::size_t> current_;
  std::vector<Axis> axes_;
  std::vector<Use> uses_;
  std::string complaint_;
};

using Indices = std::vector<std::int64_t>;

/// Adds the absolute values of each channel along `dim` to its group's size.
void add_sizes(const ChannelTensor& tensor, std::size_t dim, std::int64_t group,
               std::vector<double>& sizes) {
  std::size_t behind = 1;  // elements of an index
  for (std::size_t i = dim + 1; i < tensor.shape.size(); ++i) {
    behind *= static_cast<std::size_t>(tensor.shape[i]);
  }
  behind *= static_cast<std::size_t>(group);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    sizes[i / behind % sizes.size()] += std::abs(static_cast<double>(tensor.values[i]));
  }
}

/// Returns the wide channels that stay, ascending: those of the largest groups.
Indices kept_channels(const Axis& axis, const std::vector<double>& sizes) {
  std::vector<std::size_t> groups(sizes.size());
  std::iota(groups.begin(), groups.end(), 0);
  std::ranges::stable_sort(groups, std::greater(), [&sizes](std::size_t i) { return sizes[i]; });
  groups.resize(static_cast<std::size_t>(axis.narrow / axis.group));
  std::ranges::sort(groups);
  Indices channels;
  for (const std::size_t group : groups) {
    for (std::int64_t i = 0; i < axis.group; ++i) {
      channels.push_back(static_cast<std::int64_t>(group) * axis.group + i);
    }
  }
  return channels;
}

/// @param kept  by dimension
ChannelTensor gathered(const ChannelTensor& from, const std::vector<Indices>& kept) {
  ChannelTensor to;
  for (const Indices& indices : kept) {
    to.shape.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const std::function<void(std::size_t, std::int64_t)> add = [&](std::size_t dim,
                                                                 std::int64_t place) {
    if (dim == kept.size()) {
      to.values.push_back(from.values[static_cast<std::size_t>(place)]);
      return;
    }
    for (const std::int64_t index : kept[dim]) {
      add(dim + 1, place * from.shape[dim] + index);
    }
  };
  add(0, 0);
  return to;
}

}  // namespace

std::string narrowing_complaint(const Architecture& wide, const Architecture& narrow) {
  return Coupling(wide, narrow).complaint();
}

NetworkValues narrowed(const Architecture& wide, const Architecture& narrow,
                       const NetworkValues& values) {
  const Coupling coupling(wide, narrow);
  std::vector<Indices> kept;
  for (const Axis& axis : coupling.axes()) {
    std::vector<double> sizes(static_cast<std::size_t>(axis.wide / axis.group), 0.0);
    for (const Use& use : coupling.uses()) {
      if (use.is_filter && use.axis == kept.size()) {
        add_sizes(values.at(use.tensor), use.dim, axis.group, sizes);
      }
    }
    kept.push_back(kept_channels(axis, sizes));
  }
  NetworkValues all;
  for (const auto& [name, from] : values) {
    std::vector<Indices> own;
    for (const std::int64_t size : from.shape) {
      Indices& all_of_them = own.emplace_back(static_cast<std::size_t>(size));
      std::iota(all_of_them.begin(), all_of_them.end(), 0);
    }
    for (const Use& use : coupling.uses()) {
      if (use.tensor == name) {
        own[use.dim] = kept[use.axis];
      }
    }
    all[name] = gathered(from, own);
  }
  return all;
}

}  // namespace gangway
