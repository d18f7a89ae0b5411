// SPDX-License-Identifier: MIT
#include "job/layout/layout.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace gangway {
namespace {

NetworkGroup group_of(std::vector<int> workers, std::vector<BlockRange> chunks, int microbatches) {
  NetworkGroup group{.workers = std::move(workers), .chunks = std::move(chunks)};
  const int copies = static_cast<int>(group.workers.size()) / group.num_chunks();
  for (int chunk = 0; chunk < group.num_chunks(); ++chunk) {
    const std::vector<MicrobatchRange> ranges = microbatch_ranges(microbatches, copies);
    group.ranges.insert(group.ranges.end(), ranges.begin(), ranges.end());
  }
  return group;
}

/// @throws ConfigError unless the chunks have equally many workers, and at most as many as
/// micro-batches
void require_shares(const NetworkSpec& network, int workers, int chunks, int microbatches) {
  if (workers % chunks != 0) {
    throw ConfigError(
        fmt::format("{} workers cannot hold {} chunks of the {} in equal numbers (layout.stages, "
                    "layout.cuts.{}); use -n {} or another number of chunks",
                    workers, chunks, network.name, network.name, (workers / chunks + 1) * chunks));
  }
  if (workers / chunks > microbatches) {
    throw ConfigError(fmt::format(
        "{} workers a chunk of the {} cannot share training.microbatches {}: some would have none; "
        "start fewer, or use more micro-batches (that changes the numbers)",
        workers / chunks, network.name, microbatches));
  }
}

/// Returns the workers of `all` that hold a network of `chunks` chunks. With fewer blocks than
/// stages, it is on the last stages, beside networks that judge or compute a loss.
std::vector<int> last_stages(const std::vector<int>& all, int stages, int chunks) {
  const auto size = static_cast<int>(all.size());
  if (chunks >= stages || size % stages != 0) {
    return all;
  }
  return {all.end() - size / stages * chunks, all.end()};
}

/// Returns `of` with its `stages` equal stretches in reverse order. @pre `of` divides evenly
std::vector<int> mirrored(const std::vector<int>& of, int stages) {
  const auto copies = static_cast<std::ptrdiff_t>(of.size()) / stages;
  std::vector<int> result;
  for (auto end = of.end(); end != of.begin(); end -= copies) {
    result.insert(result.end(), end - copies, end);
  }
  return result;
}

/// Returns the workers of `all` that hold a network of `chunks` chunks, as the layout places it.
std::vector<int> placed(const std::vector<int>& all, const LayoutChoice& choice, NetworkId id,
                        int chunks) {
  const NetworkPlacement& network = choice.networks[id];
  const bool is_named = !network.workers.empty();
  const std::vector<int>& members = is_named ? network.workers : all;
  const int stages = is_named || network.cuts ? chunks : choice.stages;
  const bool is_mirrored = choice.placement == StagePlacement::kV && id != NetworkId{0} &&
                           static_cast<int>(members.size()) % stages == 0;
  return last_stages(is_mirrored ? mirrored(members, stages) : members, stages, chunks);
}

/// @throws ConfigError
void require_members(const std::string& name, const std::vector<int>& members, int workers,
                     int microbatches) {
  if (members.back() >= workers) {
    throw ConfigError(fmt::format(
        "layout.{} names rank {}, and the last of {} workers is rank {}; use -n {} or other ranks",
        name, members.back() + 1, workers, workers, members.back() + 1));
  }
  if (static_cast<int>(members.size()) > microbatches) {
    throw ConfigError(fmt::format(
        "layout.{} names {} workers, which cannot share training.microbatches {}: some would have "
        "none; name fewer, or use more micro-batches (that changes the numbers)",
        name, members.size(), microbatches));
  }
}

/// Returns the worker's position, or end. Avoids a search if all workers hold the network, which
/// callers ask for each worker.
std::vector<int>::const_iterator find_in(const std::vector<int>& workers, int worker) {
  const auto same = static_cast<std::size_t>(worker);
  return same < workers.size() && workers[same] == worker ? workers.begin() + worker
                                                          : std::ranges::find(workers, worker);
}

/// Returns the ranges of workers with `shares` micro-batches each.
std::vector<MicrobatchRange> ranges_of(const std::vector<int>& shares) {
  std::vector<MicrobatchRange> ranges;
  int end = 0;
  for (const int share : shares) {
    ranges.push_back({.begin = end, .end = end + share});
    end += share;
  }
  return ranges;
}

/// @throws ConfigError unless layout.shares has a number for each worker
void require_shares(const std::vector<int>& shares, int workers) {
  if (std::cmp_not_equal(shares.size(), workers)) {
    throw ConfigError(fmt::format(
        "layout.shares [{}] lists {} workers, and there are {}; use -n {} or layout.shares=auto",
        fmt::join(shares, ", "), shares.size(), workers, shares.size()));
  }
}

}  // namespace

bool NetworkGroup::has(int worker) const { return find_in(workers, worker) != workers.end(); }

MicrobatchRange NetworkGroup::range_of(int worker) const {
  const auto found = find_in(workers, worker);
  return found == workers.end() ? MicrobatchRange{}
                                : ranges[static_cast<std::size_t>(found - workers.begin())];
}

std::optional<int> NetworkGroup::chunk_of(int worker) const {
  const auto found = find_in(workers, worker);
  if (found == workers.end()) {
    return std::nullopt;
  }
  return static_cast<int>(found - workers.begin()) * num_chunks() /
         static_cast<int>(workers.size());
}

int NetworkGroup::worker_of(int microbatch, int chunk) const {
  const auto copies = static_cast<std::ptrdiff_t>(workers.size()) / num_chunks();
  const auto begin = ranges.begin() + copies * chunk;
  const auto found = std::find_if(begin, begin + copies, [microbatch](MicrobatchRange range) {
    return range.contains({microbatch, microbatch + 1});
  });
  if (found == begin + copies) {
    throw InvariantError(
        fmt::format("no worker of a group has micro-batch {}; please report this", microbatch));
  }
  return workers[static_cast<std::size_t>(found - ranges.begin())];
}

NetworkGroup NetworkGroup::group_of(int chunk) const {
  const auto copies = static_cast<std::ptrdiff_t>(workers.size()) / num_chunks();
  const std::ptrdiff_t begin = copies * chunk;
  return {.workers = {workers.begin() + begin, workers.begin() + begin + copies},
          .ranges = {ranges.begin() + begin, ranges.begin() + begin + copies},
          .chunks = {chunks[static_cast<std::size_t>(chunk)]}};
}

int Layout::num_workers() const {
  int last = -1;
  for (const NetworkGroup& group : *this) {
    last = std::max(last, std::ranges::max(group.workers));
  }
  return last + 1;
}

bool Layout::is_apart() const {
  return std::ranges::any_of(*this, [&](const NetworkGroup& group) {
    return group.is_cut() || group.workers != begin()->workers;
  });
}

MicrobatchRange Layout::range_of(int worker) const {
  MicrobatchRange all;
  for (const NetworkGroup& group : *this) {
    const MicrobatchRange own = group.range_of(worker);
    if (own.size() > 0 && all.size() > 0) {
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
    } else if (own.size() > 0) {
      all = own;
    }
  }
  return all;
}

std::vector<MicrobatchRange> Layout::shared_ranges() const {
  const auto found = std::ranges::find_if(*this, [all = num_workers()](const NetworkGroup& group) {
    return !group.is_cut() && std::cmp_equal(group.workers.size(), all);
  });
  return found == end() ? std::vector<MicrobatchRange>{} : found->ranges;
}

int Layout::most_in_flight() const {
  if (in_flight > 0 || schedule != StageOrder::kOneForwardOneBackward) {
    return in_flight;
  }
  return std::ranges::max_element(*this, {}, &NetworkGroup::num_chunks)->num_chunks();
}

std::string Layout::held_by(int worker, const PerNetwork<std::string>& names) const {
  if (!is_apart()) {
    return {};
  }
  std::vector<std::string> held;
  for (const NetworkId network : ids()) {
    const NetworkGroup& group = (*this)[network];
    if (const auto chunk = group.chunk_of(worker)) {
      held.push_back(group.is_cut()
                         ? fmt::format("{} {}/{}", names[network], *chunk + 1, group.num_chunks())
                         : names[network]);
    }
  }
  return fmt::format("{}", fmt::join(held, ", "));
}

Layout resolve_layout(const Job& job, const LayoutChoice& choice, int workers) {
  const int microbatches = job.training.microbatches;
  std::vector<int> all(static_cast<std::size_t>(workers));
  std::iota(all.begin(), all.end(), 0);
  PerNetwork<std::vector<BlockRange>> chunks = chunks_of(job, choice);
  Layout layout;
  static_cast<Execution&>(layout) = choice;
  for (const NetworkId id : job.networks.ids()) {
    const NetworkSpec& network = job.networks[id];
    const std::vector<int>& named = choice.networks[id].workers;
    const auto num_chunks = static_cast<int>(chunks[id].size());
    if (!named.empty()) {
      require_members(network.name, named, workers, microbatches * num_chunks);
    } else if (num_chunks == 1 && workers > microbatches) {
      throw ConfigError(fmt::format(
          "{} workers cannot share training.microbatches {}: some would have none; use -n {} or "
          "fewer, or more micro-batches (that changes the numbers)",
          workers, microbatches, microbatches));
    }
    std::vector<int> members = placed(all, choice, id, num_chunks);
    require_shares(network, static_cast<int>(members.size()), num_chunks, microbatches);
    layout.add(group_of(std::move(members), std::move(chunks[id]), microbatches));
  }
  if (!choice.shares.empty()) {
    require_shares(choice.shares, workers);
    for (NetworkGroup& group : layout) {
      group.ranges = ranges_of(choice.shares);
    }
  }
  if (choice.stages > 1 && std::ranges::none_of(layout, &NetworkGroup::is_cut)) {
    throw ConfigError(
        "layout.stages asks for chunks, but no network has two blocks or more and may be cut "
        "(layout.cuts); use layout.stages 1");
  }
  for (const int worker : all) {
    if (std::ranges::none_of(layout, [worker](const auto& group) { return group.has(worker); })) {
      throw ConfigError(
          fmt::format("the layout places no network on rank {} of {}; name it in layout.{}, or "
                      "start fewer workers",
                      worker + 1, workers, job.networks.begin()->name));
    }
  }
  return layout;
}

}  // namespace gangway
