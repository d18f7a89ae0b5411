// SPDX-License-Identifier: MIT
#include "worker/step/neighbours.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/process_identity.hpp"
#include "base/system/usable_cores.hpp"
#include "comm/calibrate/calibrator.hpp"
#include "comm/host/agree_on_hosts.hpp"
#include "comm/host/exchange_words.hpp"
#include "comm/reduce/reducer.hpp"
#include "comm/reduce/reduction_routes.hpp"
#include "comm/transport/peer_error.hpp"
#include "job/transports.hpp"
#include "run/control_protocol.hpp"

namespace gangway::worker {
namespace {

constexpr std::string_view kCalibrationFile = "calibration.json";
constexpr std::size_t kMaxCalibrationBytes = std::size_t{1} << 16U;

/// Returns by worker a host number, equal for workers that share memory under `transport`;
/// `machines` says which could.
std::vector<int> sharing(TransportKind transport, const std::vector<int>& machines) {
  const TransportTraits& traits = traits_of(transport);
  if (traits.sharing == MemorySharing::kNobody) {
    std::vector<int> each_alone(machines.size());
    std::iota(each_alone.begin(), each_alone.end(), 0);
    return each_alone;
  }
  const auto elsewhere =
      std::ranges::find_if(machines, [&](int machine) { return machine != machines.front(); });
  if (traits.sharing == MemorySharing::kEverybody && elsewhere != machines.end()) {
    throw ConfigError(fmt::format(
        "layout.transport: {}, but rank {} shares no memory with rank 1 (another host or "
        "container); use hierarchical, mpi or auto",
        traits.name, rank_of(WorkerIndex(static_cast<int>(elsewhere - machines.begin())))));
  }
  return machines;
}

/// Describes the route of GPUs' gradients; empty if no host has several workers.
std::string route_text(TransportKind transport, const std::vector<int>& machines) {
  const std::size_t hosts = std::set(machines.begin(), machines.end()).size();
  return traits_of(transport).sharing == MemorySharing::kNobody || hosts == 1 ||
                 hosts == machines.size()
             ? ""
             : fmt::format("; gradients leave each of {} hosts once", hosts);
}

std::string shared_name(const std::string& token) {
  return fmt::format("{:016x}", XXH3_64bits(token.data(), token.size()));
}

/// Returns the calibration, equal on all workers. Lane thread of every worker.
comm::Calibration calibrated(const std::vector<int>& machines, const std::string& token,
                             const std::filesystem::path& run_directory,
                             comm::Transport& transport) {
  const std::filesystem::path file = run_directory / kCalibrationFile;
  const bool keeps = transport.worker() == 0;
  const auto before = keeps ? read_small_file(file, kMaxCalibrationBytes) : std::nullopt;
  const comm::Calibration calibration = comm::calibrate(
      transport,
      {.machines = machines,
       .token = shared_name(token),
       .recorded = before ? std::optional(comm::parse_calibration(*before)) : std::nullopt});
  if (keeps) {
    const std::string text =
        comm::to_json(calibration, comm::choose_transport(calibration, machines));
    if (text != before) {
      write_file_atomically(file, text);
    }
  }
  return calibration;
}

}  // namespace

Neighbours find_neighbours(const Job& job, TransportKind wanted, const std::string& token,
                           const std::filesystem::path& run_directory, comm::Transport& transport,
                           comm::Lane& lane) {
  std::vector<int> machines;
  lane.wait(lane.submit([&] {
    machines = comm::agree_on_hosts(transport, shared_memory_identity(), kStartDeadline);
  }));
  const bool on_gpus = job.numerics.device == DeviceKind::kCuda;
  TransportKind kind = on_gpus ? TransportKind::kNccl : wanted;
  std::string choice;
  if (kind == TransportKind::kAuto && machines.size() > 1) {
    lane.wait(lane.submit([&] {
      const comm::Calibration paths = calibrated(machines, token, run_directory, transport);
      kind = comm::choose_transport(paths, machines);
      choice = "auto chose " + comm::describe(paths, machines);
    }));
  }
  const auto me = static_cast<std::size_t>(transport.worker());
  const std::vector<int> hosts = sharing(kind, machines);
  const std::vector<int> members = comm::workers_of(hosts[me], hosts);
  const std::size_t beside = comm::workers_of(machines[me], machines).size();
  // Needs a core for each compute thread, and one for this worker's lane.
  const bool owns_core = static_cast<std::size_t>(usable_cores()) >=
                         beside * (static_cast<std::size_t>(job.numerics.threads) + 1);
  std::string summary = fmt::format(
      "{}; the lane {}",
      members.size() > 1 ? fmt::format("{} workers of this host share memory", members.size())
                         : "shares no memory",
      owns_core ? "owns a core and spins" : "shares its core and sleeps between polls");
  if (on_gpus) {
    summary += route_text(wanted, machines);
  }
  return {.hosts = hosts,
          .memory = comm::HostMemory({.members = members,
                                      .worker = transport.worker(),
                                      .epoch = transport.epoch(),
                                      .token = shared_name(token),
                                      .num_flags = job.networks.size() * comm::kFlagsPerNetwork}),
          .machines = machines,
          .core = owns_core ? comm::Lane::Core::kOwn : comm::Lane::Core::kShared,
          .workers_on_machine = static_cast<int>(beside),
          .summary = std::move(summary),
          .choice = std::move(choice),
          .exchange = [&transport, &lane](std::uint64_t own) {
            std::vector<std::uint64_t> words;
            lane.wait(lane.submit([&] {
              words =
                  comm::exchange_words(transport, own, "which GPUs workers see", kStartDeadline);
            }));
            return words;
          }};
}

}  // namespace gangway::worker
