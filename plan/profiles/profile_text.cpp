// SPDX-License-Identifier: MIT
#include "plan/profiles/profile_text.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "report/table.hpp"

namespace gangway::plan {
namespace {

using pipeline::Application;
using pipeline::Operation;
using report::Table;

std::string shown_ms(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

std::string shown_ms(const Timing& timing) {
  return timing.seconds == 0.0
             ? "-"
             : fmt::format("{:.3f} +- {:.3f}", timing.seconds * 1e3, timing.scatter * 1e3);
}

std::string shown_mib(std::int64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / kMebibyte);
}

std::string blocks_table(const Profile& profile) {
  Table table({{"network"},
               {"block", Align::kRight},
               {"forward ms", Align::kRight},
               {"input gradient ms", Align::kRight},
               {"weight gradient ms", Align::kRight},
               {"kept MiB", Align::kRight},
               {"out MiB", Align::kRight},
               {"parameters", Align::kRight}});
  for (const BlockCost& cost : profile.blocks) {
    table.add_row({cost.network, std::to_string(cost.block), shown_ms(cost.forward),
                   shown_ms(cost.input_gradient), shown_ms(cost.weight_gradient),
                   shown_mib(cost.kept_bytes), shown_mib(cost.output_bytes),
                   std::to_string(cost.parameters)});
  }
  return table.text();
}

/// Sums of measured passes and of the blocks in them.
struct Compared {
  double measured = 0.0;
  double blocks = 0.0;
};

void add_row(Table& table, const std::string& what, const Timing& measured, double blocks,
             Compared& sum) {
  sum.measured += measured.seconds;
  sum.blocks += blocks;
  table.add_row({what, shown_ms(measured), shown_ms(blocks),
                 measured.seconds > 0.0 ? fmt::format("{:.2f}", blocks / measured.seconds) : "-"});
}

std::string passes_table(const Profile& profile, const std::vector<pipeline::Phase>& phases,
                         const JobSpec& job) {
  const PerNetwork<std::string> names = job.network_names();
  Table table({{"pass"},
               {"measured ms", Align::kRight},
               {"its blocks ms", Align::kRight},
               {"ratio", Align::kRight}});
  Compared sum;
  for (const pipeline::Phase& phase : phases) {
    for (std::size_t i = 0; i < phase.passes.size(); ++i) {
      const pipeline::Pass& pass = phase.passes[i];
      for (std::size_t node = 0; node < pass.nodes.size(); ++node) {
        const auto* application = std::get_if<Application>(&pass.nodes[node]);
        if (application == nullptr) {
          continue;
        }
        const std::string& network = names[application->network];
        const SumOfBlocks blocks =
            sum_of_blocks(profile, network, phase, pass, static_cast<int>(node));
        pipeline::Instruction at{.operation = Operation::kForward,
                                 .network = application->network,
                                 .phase = phase.index,
                                 .pass = static_cast<int>(i),
                                 .node = static_cast<int>(node)};
        const std::string place = fmt::format("{} {}", phase.name, pass.name);
        add_row(table, fmt::format("{}: {} forward", place, network), profile.cost_of(at, names),
                blocks.forward_seconds, sum);
        at.operation = Operation::kBackward;
        if (pass.has_gradient[node]) {
          add_row(table, fmt::format("{}: {} backward", place, network), profile.cost_of(at, names),
                  blocks.backward_seconds, sum);
        }
      }
    }
  }
  Compared ignored;
  add_row(table, "all", {.seconds = sum.measured}, sum.blocks, ignored);
  return table.text();
}

std::string networks_table(const Profile& profile) {
  Table table({{"network"},
               {"parameters", Align::kRight},
               {"update ms", Align::kRight},
               {"ms a million", Align::kRight},
               {"buckets ready at % of backward"}});
  for (const NetworkCost& network : profile.networks) {
    std::vector<std::string> ready;
    for (const double share : ready_shares(profile, network)) {
      ready.push_back(fmt::format("{:.0f}", 100.0 * share));
    }
    const double millions = static_cast<double>(network.parameters) / 1e6;
    table.add_row({network.name, std::to_string(network.parameters), shown_ms(network.update),
                   millions > 0.0 ? shown_ms(network.update.seconds / millions) : "-",
                   fmt::format("{}", fmt::join(ready, " "))});
  }
  return table.text();
}

/// A row for each path of a host or a pair of hosts.
std::string links_table(const comm::LinkTable& links) {
  constexpr std::size_t kMostRows = 20;
  Table table({{"hosts"}, {"path"}, {"latency us", Align::kRight}, {"MB/s", Align::kRight}});
  std::size_t rows = 0;
  for (const comm::HostLink& link : links.links) {
    for (const comm::PathFigures& path : link.figures.paths) {
      if (++rows > kMostRows) {
        continue;
      }
      const auto name = [&](int host) { return links.hosts[static_cast<std::size_t>(host)]; };
      table.add_row(
          {link.a == link.b ? name(link.a) : fmt::format("{} - {}", name(link.a), name(link.b)),
           comm::path_name(path.path), fmt::format("{:.1f}", path.latency_seconds() * 1e6),
           fmt::format("{:.0f}", path.bytes_per_second() / 1e6)});
    }
  }
  const std::string more =
      rows > kMostRows ? fmt::format("and {} more, in the file\n", rows - kMostRows) : "";
  return "\n" + table.text() + more;
}

}  // namespace

SumOfBlocks sum_of_blocks(const Profile& profile, const std::string& network,
                          const pipeline::Phase& phase, const pipeline::Pass& pass, int node) {
  const auto& application = std::get<Application>(pass.nodes[static_cast<std::size_t>(node)]);
  const bool is_trained = pipeline::trains(phase, application.network);
  const bool goes_on = wants_input_gradient(pass, application);
  SumOfBlocks sum;
  for (const BlockCost& block : profile.blocks) {
    if (block.network != network) {
      continue;
    }
    sum.forward_seconds += block.forward.seconds;
    // The first block computes no input gradient, unless an earlier node needs it.
    sum.backward_seconds += block.block > 0 || goes_on ? block.input_gradient.seconds : 0.0;
    sum.backward_seconds += is_trained ? block.weight_gradient.seconds : 0.0;
  }
  return sum;
}

std::string profile_text(const Profile& profile, const std::vector<pipeline::Phase>& phases,
                         const JobSpec& job) {
  std::vector<std::string> together;
  for (const double factor : profile.together) {
    together.push_back(fmt::format("{:.2f}", factor));
  }
  const MemoryCost& memory = profile.memory;
  return fmt::format(
      "{}, micro-batches of {} images, {} thread{}, on {} ({} x {})\n\n{}\n{}\n{}\n"
      "step of {} micro-batches: {} ms; slower beside other workers: {}\n"
      "loader: {:.4f} ms an image; adding arenas: {:.2f} GB/s; waking the lane: {:.0f} us\n"
      "memory: {} MiB process, {} MiB compute at most, {} MiB other\n{}",
      profile.job, profile.images_per_microbatch, profile.threads, profile.threads == 1 ? "" : "s",
      profile.host, profile.cores, profile.processor, blocks_table(profile),
      passes_table(profile, phases, job), networks_table(profile), profile.step_microbatches,
      shown_ms(profile.step), fmt::format("{}", fmt::join(together, " ")),
      profile.data_seconds_per_image * 1e3,
      profile.add_seconds_per_byte > 0.0 ? 1e-9 / profile.add_seconds_per_byte : 0.0,
      profile.wake_seconds * 1e6, shown_mib(memory.process_bytes), shown_mib(memory.working_bytes),
      shown_mib(memory.other_bytes), profile.links ? links_table(*profile.links) : "");
}

}  // namespace gangway::plan
