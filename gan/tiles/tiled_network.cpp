// SPDX-License-Identifier: MIT
#include "gan/tiles/tiled_network.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/units.hpp"
#include "gan/tiles/map_moments.hpp"
#include "job/primitives/constant_folding.hpp"

namespace gangway::gan {
namespace {

/// Maps of a strip, together: more would leave the cache, fewer would repeat more border rows.
constexpr std::int64_t kStripBytes = std::int64_t{64} << 20;
/// Rows around a strip that its convolutions see, at most.
constexpr std::int64_t kBorderRows = 8;

/// Divides and rounds up. @pre divisor > 0
std::int64_t quotient_up(std::int64_t number, std::int64_t divisor) {
  return number > 0 ? (number + divisor - 1) / divisor : -(-number / divisor);
}

/// Returns the rows of its maps, of `height`, that rows of a primitive's output depend on.
Rows rows_before(const Primitive& primitive, Rows rows, std::int64_t height) {
  const Window& w = primitive.window;
  switch (primitive.operation) {
    case Operation::kConvolution:
      rows = {rows.begin * w.stride - w.padding, (rows.end - 1) * w.stride - w.padding + w.kernel};
      break;
    case Operation::kTransposedConvolution:  // row i of its maps adds to rows from i s - p on
      rows = {quotient_up(rows.begin + w.padding - w.kernel + 1, w.stride),
              (rows.end - 1 + w.padding) / w.stride + 1};
      break;
    case Operation::kRepetition:
      rows = {rows.begin / w.stride, quotient_up(rows.end, w.stride)};
      break;
    case Operation::kReflection:  // row -i is row i; row height - 1 + i is row height - 1 - i
      rows = {rows.begin - w.padding, rows.end - w.padding};
      rows = {std::min(rows.begin, 2 * height - 1 - rows.end), std::max(rows.end, 1 - rows.begin)};
      break;
    default:
      break;
  }
  return {std::max<std::int64_t>(rows.begin, 0), std::min(rows.end, height)};
}

}  // namespace

struct TiledNetwork::Plan {
  std::vector<std::int64_t> heights;  // by tensor
  std::vector<std::int64_t> widths;   // by tensor
  std::vector<std::int64_t> rows;     // of a strip, by target
  std::vector<bool> in_file;          // by tensor: whether its stored map is in a file
  std::int64_t memory_bytes = 0;      // most bytes of stored maps that are in memory at once
  std::int64_t file_bytes = 0;        // same, in files
  std::int64_t row_bytes = 0;         // of one row of the maps that a strip needs, at most
  std::int64_t largest_strip = 0;     // same, of all rows
};

/// The computation for one input.
class TiledNetwork::Pass {
 public:
  Pass(const TiledNetwork& network, const Plan& plan, std::int64_t count, const Source& source)
      : network_(network), plan_(plan), count_(count), source_(source) {}

  /// Computes rows of a tensor that has a primitive.
  [[nodiscard]] at::Tensor made(std::size_t tensor, Rows rows) const;
  void begin(std::size_t tensor, const std::filesystem::path& folder);
  void store(std::size_t tensor, std::int64_t begin, const at::Tensor& strip);
  void forget(std::size_t tensor) {
    maps_.erase(tensor);
    moments_.erase(tensor);
  }

 private:
  [[nodiscard]] at::Tensor rows_of(std::size_t tensor, Rows rows) const;
  [[nodiscard]] at::Tensor of_maps(const Primitive& primitive, Rows rows) const;
  [[nodiscard]] at::Tensor of_elements(const Primitive& primitive, Rows rows) const;
  [[nodiscard]] at::Tensor convolved(const Primitive& primitive, const at::Tensor& x,
                                     Rows rows) const;
  [[nodiscard]] std::optional<at::Tensor> bias_of(const Primitive& primitive) const {
    return primitive.inputs.size() > 2 ? std::optional(network_.constants_[primitive.inputs[2]])
                                       : std::nullopt;
  }

  const TiledNetwork& network_;
  const Plan& plan_;
  std::int64_t count_;  // of pictures
  const Source& source_;
  std::map<std::size_t, StoredMap> maps_;
  std::map<std::size_t, MapMoments> moments_;
};

at::Tensor TiledNetwork::Pass::rows_of(std::size_t tensor, Rows rows) const {
  if (tensor == network_.graph_.inputs.front()) {
    return source_(rows).to(network_.device_);
  }
  return network_.is_stored_[tensor] ? maps_.at(tensor).get(rows) : made(tensor, rows);
}

at::Tensor TiledNetwork::Pass::made(std::size_t tensor, Rows rows) const {
  const Primitive& primitive = network_.maker(tensor);
  const std::size_t first = primitive.inputs.front();
  switch (primitive.operation) {
    case Operation::kConvolution:
    case Operation::kTransposedConvolution:
    case Operation::kRepetition:
    case Operation::kReflection:
      return of_maps(primitive, rows);
    case Operation::kInstanceNorm: {
      const MapMoments::Scale scale =
          moments_.at(first).scale(network_.constants_[primitive.inputs[1]],
                                   network_.constants_[primitive.inputs[2]], primitive.number);
      return at::addcmul(scale.offset, rows_of(first, rows), scale.factor);
    }
    case Operation::kConcatenation: {
      std::vector<at::Tensor> parts;
      for (const std::size_t input : primitive.inputs) {
        parts.push_back(rows_of(input, rows));
      }
      return at::cat(parts, primitive.axes.front());
    }
    default:
      return of_elements(primitive, rows);
  }
}

at::Tensor TiledNetwork::Pass::convolved(const Primitive& primitive, const at::Tensor& x,
                                         Rows rows) const {
  const Window& w = primitive.window;
  const std::int64_t height = plan_.heights[primitive.inputs.front()];
  const at::Tensor& weight = network_.constants_[primitive.inputs[1]];
  const std::optional<at::Tensor> bias = bias_of(primitive);
  if (rows.count() == plan_.heights[primitive.output]) {
    return at::conv2d(x, weight, bias, w.stride, w.padding, /*dilation=*/1, w.groups);
  }
  // Rows of zeros beyond the map's ends; the columns of zeros are the library's.
  const std::int64_t above = std::max<std::int64_t>(0, w.padding - rows.begin * w.stride);
  const std::int64_t below =
      std::max<std::int64_t>(0, (rows.end - 1) * w.stride - w.padding + w.kernel - height);
  const at::Tensor padded = above + below == 0 ? x : at::constant_pad_nd(x, {0, 0, above, below});
  return at::conv2d(padded, weight, bias, w.stride, at::IntArrayRef({0, w.padding}),
                    /*dilation=*/1, w.groups);
}

at::Tensor TiledNetwork::Pass::of_maps(const Primitive& primitive, Rows rows) const {
  const std::size_t first = primitive.inputs.front();
  const Window& w = primitive.window;
  const std::int64_t height = plan_.heights[first];
  const Rows before = rows_before(primitive, rows, height);
  const at::Tensor x = rows_of(first, before);
  // Rows of `all`, which begin at `begin`.
  const auto cut = [&](const at::Tensor& all, std::int64_t begin) {
    return all.narrow(2, rows.begin - begin, rows.count());
  };
  switch (primitive.operation) {
    case Operation::kConvolution:
      return convolved(primitive, x, rows);
    case Operation::kTransposedConvolution:
      return cut(
          at::conv_transpose2d(x, network_.constants_[primitive.inputs[1]], bias_of(primitive),
                               w.stride, {0, w.padding}, {0, w.output_padding}, w.groups),
          before.begin * w.stride - w.padding);
    case Operation::kRepetition:
      return cut(at::upsample_nearest2d(x, {x.size(2) * w.stride, x.size(3) * w.stride}),
                 before.begin * w.stride);
    default: {  // kReflection
      const std::int64_t above = std::max<std::int64_t>(0, w.padding - rows.begin);
      const std::int64_t below = std::max<std::int64_t>(0, rows.end - w.padding - height);
      return cut(at::reflection_pad2d(x, {w.padding, w.padding, above, below}),
                 before.begin - above + w.padding);
    }
  }
}

at::Tensor TiledNetwork::Pass::of_elements(const Primitive& primitive, Rows rows) const {
  const std::size_t first = primitive.inputs.front();
  const at::Tensor x = rows_of(first, rows);
  const bool is_own = !network_.is_stored_[first];  // may be written to
  switch (primitive.operation) {
    case Operation::kAdd:
      return x + rows_of(primitive.inputs[1], rows);
    case Operation::kRelu:
      return is_own ? x.relu_() : x.relu();
    case Operation::kLeakyRelu:
      return at::leaky_relu(x, primitive.number);
    case Operation::kTanh:
      return is_own ? x.tanh_() : x.tanh();
    default:
      throw InvariantError(
          fmt::format("operation {} is in no translator", static_cast<int>(primitive.operation)));
  }
}

void TiledNetwork::Pass::begin(std::size_t tensor, const std::filesystem::path& folder) {
  const std::int64_t channels = network_.graph_.tensors[tensor].shape[1];
  if (network_.is_stored_[tensor]) {
    maps_.try_emplace(tensor, MapSize{count_, plan_.heights[tensor], plan_.widths[tensor]},
                      channels, network_.device_, folder);
  }
  if (network_.is_normalized_[tensor]) {
    moments_.try_emplace(tensor, count_ * channels);
  }
}

void TiledNetwork::Pass::store(std::size_t tensor, std::int64_t begin, const at::Tensor& strip) {
  if (network_.is_stored_[tensor]) {
    maps_.at(tensor).put(strip, begin);
  }
  if (network_.is_normalized_[tensor]) {
    moments_.at(tensor).add(strip);
  }
}

TiledNetwork::TiledNetwork(PrimitiveGraph graph, at::Device device)
    : graph_(std::move(graph)),
      device_(device),
      constants_(graph_.tensors.size()),
      makers_(graph_.tensors.size()),
      is_stored_(graph_.tensors.size()),
      is_normalized_(graph_.tensors.size()) {
  for (std::size_t index = 0; index < graph_.tensors.size(); ++index) {
    GraphTensor& tensor = graph_.tensors[index];
    if (tensor.is_constant && !tensor.values.empty()) {
      const at::Tensor values = at::tensor(tensor.values).reshape(tensor.shape).to(device);
      constants_[index] =
          values.dim() == 4 ? values.contiguous(at::MemoryFormat::ChannelsLast) : values;
      tensor.values = {};
    }
  }
  choose_stored();
  std::map<std::size_t, std::size_t> last_reader;  // target, by stored tensor
  for (const Primitive& primitive : graph_.primitives) {
    const std::size_t made = primitive.output;
    if (is_stored_[made] || is_normalized_[made] || made == graph_.outputs.front()) {
      Target target{.tensor = made, .reads = {}, .freed = {}};
      for (const std::size_t input : primitive.inputs) {
        add_reads(input, target);
      }
      for (const std::size_t read : target.reads) {
        if (is_stored_[read] && read != graph_.inputs.front()) {
          last_reader[read] = targets_.size();
        }
      }
      targets_.push_back(std::move(target));
    }
  }
  for (const auto& [tensor, reader] : last_reader) {
    targets_[reader].freed.push_back(tensor);
  }
}

void TiledNetwork::choose_stored() {
  std::vector<int> uses(graph_.tensors.size());
  for (std::size_t index = 0; index < graph_.primitives.size(); ++index) {
    const Primitive& primitive = graph_.primitives[index];
    makers_[primitive.output] = index;
    for (const std::size_t input : primitive.inputs) {
      ++uses[input];
    }
    if (primitive.operation == Operation::kInstanceNorm) {
      is_normalized_[primitive.inputs.front()] = true;
    }
  }
  // An early map depends on the picture only. It is computed again at its normalization, because
  // writing such a large map to a file takes longer.
  std::vector<bool> is_early(graph_.tensors.size());
  is_early[graph_.inputs.front()] = true;
  for (const Primitive& primitive : graph_.primitives) {
    const std::size_t made = primitive.output;
    is_early[made] = primitive.operation != Operation::kInstanceNorm &&
                     std::ranges::all_of(primitive.inputs, [&](std::size_t input) {
                       return is_early[input] || graph_.tensors[input].is_constant;
                     });
    // Results of transposed convolutions are stored, too: several in a row need ever more border.
    is_stored_[made] =
        made != graph_.outputs.front() &&
        (uses[made] > 1 || (is_normalized_[made] && !is_early[made]) ||
         (primitive.operation == Operation::kTransposedConvolution && uses[made] > 0));
  }
  is_stored_[graph_.inputs.front()] = true;
}

void TiledNetwork::add_reads(std::size_t tensor, Target& target) const {
  if (graph_.tensors[tensor].is_constant) {
    return;
  }
  target.reads.push_back(tensor);
  if (!is_stored_[tensor]) {
    for (const std::size_t input : maker(tensor).inputs) {
      add_reads(input, target);
    }
  }
}

/// Returns the side of each tensor, of constants 0; nothing if the network cannot give it back.
std::vector<std::int64_t> TiledNetwork::sides_of(std::int64_t side) const {
  std::vector<std::int64_t> sides(graph_.tensors.size());
  sides[graph_.inputs.front()] = side;
  for (const Primitive& primitive : graph_.primitives) {
    const std::int64_t first = sides[primitive.inputs.front()];
    for (const std::size_t input : primitive.inputs) {
      if (!graph_.tensors[input].is_constant && sides[input] != first) {
        return {};
      }
    }
    sides[primitive.output] = primitives::side_after(primitive, first);
    if (sides[primitive.output] < 1) {
      return {};
    }
  }
  return sides[graph_.outputs.front()] == side ? sides : std::vector<std::int64_t>();
}

std::int64_t TiledNetwork::padded_side(std::int64_t side) const {
  while (sides_of(side).empty()) {
    ++side;
  }
  return side;
}

std::int64_t TiledNetwork::channels() const {
  return graph_.tensors[graph_.inputs.front()].shape[1];
}

TiledNetwork::Plan TiledNetwork::plan_for(const MapSize& size, const TileLimits& limits) const {
  const std::int64_t for_strips = limits.memory_bytes / 4;
  Plan plan{.heights = sides_of(size.height),
            .widths = sides_of(size.width),
            .rows = {},
            .in_file = std::vector<bool>(graph_.tensors.size())};
  const auto map_bytes = [&](std::size_t tensor) {
    return size.count * graph_.tensors[tensor].shape[1] * plan.heights[tensor] *
           plan.widths[tensor] * static_cast<std::int64_t>(sizeof(float));
  };
  std::int64_t in_memory = 0;  // bytes of stored maps that are alive
  std::int64_t in_files = 0;
  const auto alive = [&](std::size_t tensor) -> std::int64_t& {
    return plan.in_file[tensor] ? in_files : in_memory;
  };
  for (const Target& target : targets_) {
    const std::int64_t height = plan.heights[target.tensor];
    const std::int64_t bytes = map_bytes(target.tensor);
    std::int64_t whole = bytes;
    for (const std::size_t read : target.reads) {
      whole += map_bytes(read);
    }
    const std::int64_t of_row = whole / height;
    const std::int64_t fast = std::min(for_strips, kStripBytes) / of_row;
    const std::int64_t most =
        std::clamp<std::int64_t>(limits.rows > 0 ? limits.rows : fast, 1, height);
    // Strips of about equal height.
    plan.rows.push_back(limits.rows > 0 ? most : quotient_up(height, quotient_up(height, most)));
    plan.row_bytes = std::max(plan.row_bytes, of_row);
    plan.largest_strip = std::max(plan.largest_strip, whole);
    if (is_stored_[target.tensor]) {
      plan.in_file[target.tensor] = in_memory + bytes > limits.memory_bytes - for_strips;
      alive(target.tensor) += bytes;
    }
    plan.memory_bytes = std::max(plan.memory_bytes, in_memory);
    plan.file_bytes = std::max(plan.file_bytes, in_files);
    for (const std::size_t tensor : target.freed) {
      alive(tensor) -= map_bytes(tensor);
    }
  }
  return plan;
}

std::int64_t TiledNetwork::num_bytes(const MapSize& size) const {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const Plan all = plan_for(size, {.memory_bytes = kAny, .scratch = {}});
  return all.memory_bytes + all.largest_strip;
}

void TiledNetwork::apply(const MapSize& size, const TileLimits& limits, const Source& source,
                         const Sink& sink, const Progress& progress) const {
  const at::NoGradGuard no_grad;
  const Plan plan = plan_for(size, limits);
  const auto gibibytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / kGibibyte; };
  if (plan.row_bytes * (1 + kBorderRows) > limits.memory_bytes / 2) {
    throw ConfigError(fmt::format("{} pixels wide: needs --memory {:.1f}", size.width,
                                  gibibytes(2 * plan.row_bytes * (1 + kBorderRows)) + 0.1));
  }
  if (plan.file_bytes > 0) {
    std::error_code failure;
    const auto free = std::filesystem::space(limits.scratch, failure).available;
    if (!failure && free < static_cast<std::uintmax_t>(plan.file_bytes)) {
      throw EnvironmentError(fmt::format(
          "{}: {:.1f} GiB are free, and its maps need {:.1f} GiB there; free some, or give more "
          "--memory",
          limits.scratch.string(), static_cast<double>(free) / kGibibyte,
          gibibytes(plan.file_bytes)));
    }
  }
  Pass pass(*this, plan, size.count, source);
  for (std::size_t index = 0; index < targets_.size(); ++index) {
    const Target& target = targets_[index];
    const std::int64_t height = plan.heights[target.tensor];
    if (!is_output(target)) {
      pass.begin(target.tensor,
                 plan.in_file[target.tensor] ? limits.scratch : std::filesystem::path());
    }
    for (std::int64_t begin = 0; begin < height; begin += plan.rows[index]) {
      const Rows rows{begin, std::min(begin + plan.rows[index], height)};
      const at::Tensor strip = pass.made(target.tensor, rows);
      if (is_output(target)) {
        sink(rows, strip.cpu());
      } else {
        pass.store(target.tensor, rows.begin, strip);
      }
      progress((static_cast<double>(index) +
                static_cast<double>(rows.end) / static_cast<double>(height)) /
               static_cast<double>(targets_.size()));
    }
    for (const std::size_t tensor : target.freed) {
      pass.forget(tensor);
    }
  }
}

}  // namespace gangway::gan
