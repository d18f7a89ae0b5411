// SPDX-License-Identifier: MIT
#include "job/layout/stage_cuts.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "job/primitives/primitives.hpp"

namespace gangway {
namespace {

/// Multiply-adds in the time in which one value is read or written: 60 and 2 thousand million a
/// second (one core of a Xeon).
constexpr double kProductsPerValue = 32.0;

std::vector<BlockRange> ranges_between(const std::vector<int>& ends) {
  std::vector<BlockRange> ranges;
  int begin = 0;
  for (const int end : ends) {
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

/// @throws ConfigError
std::vector<BlockRange> chunks_at(const std::string& name, const std::vector<int>& cuts,
                                  int num_blocks) {
  if (!cuts.empty() && cuts.back() >= num_blocks) {
    throw ConfigError(
        fmt::format("layout.cuts.{} cuts before block {}, and the last of {} is block {}; name "
                    "blocks that there are",
                    name, cuts.back(), num_blocks, num_blocks - 1));
  }
  std::vector<int> ends = cuts;
  ends.push_back(num_blocks);
  return ranges_between(ends);
}

bool is_users_code(const BlockSpec& block) {
  return std::holds_alternative<LibrarySpec>(block) || std::holds_alternative<PythonSpec>(block);
}

std::vector<BlockPorts> ports_in(const Architecture& network) {
  std::vector<BlockPorts> ports;
  for (const BlockSpec& block : network.blocks) {
    ports.push_back(std::visit([](const auto& spec) { return ports_of(spec); }, block));
  }
  return ports;
}

}  // namespace

std::vector<int> balanced_ends(const std::vector<double>& costs, int runs) {
  const auto num_blocks = static_cast<int>(costs.size());
  std::vector<double> until(costs.size() + 1, 0.0);
  std::partial_sum(costs.begin(), costs.end(), until.begin() + 1);
  // best[r][b]: the cost of the dearest of r runs of the first b blocks, and the last run's begin
  struct Cut {
    double dearest = std::numeric_limits<double>::infinity();
    int first = 0;
  };
  std::vector<std::vector<Cut>> best(static_cast<std::size_t>(runs) + 1,
                                     std::vector<Cut>(costs.size() + 1));
  best[0][0].dearest = 0.0;
  for (std::size_t count = 1; count < best.size(); ++count) {
    for (int end = 1; end <= num_blocks; ++end) {
      Cut& here = best[count][static_cast<std::size_t>(end)];
      for (int first = static_cast<int>(count) - 1; first < end; ++first) {
        const auto from = static_cast<std::size_t>(first);
        const double dearest = std::max(best[count - 1][from].dearest,
                                        until[static_cast<std::size_t>(end)] - until[from]);
        if (dearest < here.dearest) {
          here = {dearest, first};
        }
      }
    }
  }
  std::vector<int> ends(static_cast<std::size_t>(runs), num_blocks);
  for (auto count = static_cast<std::size_t>(runs); count > 1; --count) {
    ends[count - 2] = best[count][static_cast<std::size_t>(ends[count - 1])].first;
  }
  return ends;
}

std::vector<double> guessed_costs(const Architecture& network, const ModelSpec& model, int images) {
  const bool is_known = std::ranges::none_of(network.blocks, is_users_code);
  const PrimitiveGraph graph =
      is_known ? primitives_of(network, model, /*growth=*/1.0) : PrimitiveGraph();
  std::vector<double> costs;
  for (std::size_t block = 0; block < network.blocks.size(); ++block) {
    const auto weights =
        static_cast<double>(num_parameters(Architecture{.blocks = {network.blocks[block]}}));
    const double moved = weights / images + 2.0 * static_cast<double>(values_made(graph, block));
    costs.push_back(static_cast<double>(multiply_adds(graph, block)) + kProductsPerValue * moved);
  }
  if (!is_known) {
    const double all = std::max(1.0, std::accumulate(costs.begin(), costs.end(), 0.0));
    for (double& cost : costs) {
      cost = cost / all + 1.0 / static_cast<double>(costs.size());
    }
  }
  return costs;
}

PerNetwork<std::vector<BlockRange>> chunks_of(const Job& job, const LayoutChoice& choice) {
  PerNetwork<std::vector<BlockRange>> chunks;
  if (!choice.cuts_networks()) {
    for (std::size_t i = 0; i < job.networks.size(); ++i) {
      chunks.add({BlockRange{}});
    }
    return chunks;
  }
  const PerNetwork<Architecture> architectures = job.architectures();
  for (const NetworkId network : job.networks.ids()) {
    const auto& cuts = choice.networks[network].cuts;
    const Architecture& architecture = architectures[network];
    const auto num_blocks = static_cast<int>(architecture.blocks.size());
    if (cuts || num_blocks == 1) {
      chunks.add(
          chunks_at(job.networks[network].name, cuts.value_or(std::vector<int>()), num_blocks));
    } else {
      chunks.add(ranges_between(balanced_ends(
          guessed_costs(architecture, job.settled_model(), job.images_per_microbatch()),
          std::min(choice.stages, num_blocks))));
    }
  }
  return chunks;
}

std::vector<std::vector<std::string>> made_tensors(const Architecture& network) {
  std::vector<std::vector<std::string>> made;
  for (BlockPorts& ports : ports_in(network)) {
    made.push_back(std::move(ports.outputs));
  }
  return made;
}

std::vector<std::vector<std::string>> live_tensors(const Architecture& network) {
  const std::vector<BlockPorts> ports = ports_in(network);
  return network.levels.empty() ? live_after(ports, "features") : live_after(ports, network.levels);
}

}  // namespace gangway
