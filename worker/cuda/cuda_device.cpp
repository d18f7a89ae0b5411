// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_device.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/system/control_groups.hpp"
#include "base/system/near_cores.hpp"
#include "comm/nccl/connect_peers.hpp"
#include "comm/nccl/shared_device.hpp"
#include "comm/nccl/unique_id.hpp"
#include "comm/transport/group_transport.hpp"
#include "gan/kernels/convolution.hpp"
#include "job/estimate/device_estimate.hpp"
#include "run/control_protocol.hpp"
#include "worker/cuda/cuda_calls.hpp"
#include "worker/cuda/cuda_marks.hpp"
#include "worker/cuda/cuda_recorder.hpp"
#include "worker/cuda/cuda_staging.hpp"
#include "worker/cuda/nccl_carrier.hpp"
#include "worker/cuda/staged_carrier.hpp"
#include "worker/gauges/gpu_gauges.hpp"
#include "worker/step/absent_exchange.hpp"

namespace gangway::worker {
namespace {

using comm::check;

static_assert(kMostBuckets == comm::kDefaultBuckets &&
                  kLeastBucketBytes == comm::kLeastDeviceBucketBytes,
              "the dry run counts buckets as plans have them");

/// Thread blocks of an NCCL kernel that moves one tensor. It occupies the device until both ends
/// arrive, and each edge has one beside the reduction kernels.
constexpr int kMostCtasOfAnEdge = 4;

int num_devices() {
  int devices = 0;
  const cudaError_t result = cudaGetDeviceCount(&devices);
  if (result != cudaSuccess || devices == 0) {
    throw EnvironmentError(fmt::format(
        "numerics.device: cuda, but there is no GPU to compute on here ({}); look with nvidia-smi, "
        "or use numerics.device=cpu",
        result == cudaSuccess ? "no device" : cudaGetErrorString(result)));
  }
  return devices;
}

std::string name_of_device(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for the GPU's name");
  return properties.name;
}

std::vector<int> in_order(std::vector<int> workers) {
  std::ranges::sort(workers);
  return workers;
}

}  // namespace

CudaDevice::CudaDevice(const Job& job, const Execution& execution, int index, PretendHost pretend)
    : job_(job),
      execution_(execution),
      index_(index),
      pretend_(std::move(pretend)),
      kind_(name_of_device(index_)),
      stream_(make_stream(index_, "making the compute stream")),
      device_(torch_device(index_)),
      gauges_({.library = kNvmlLibrary, .bus = comm::bus_of(index_)}) {
  compute_on(index_, stream_.get());
  choose_kernels(job_.numerics.kernels);
  gan::derive_convolutions_well(c10::DispatchKey::AutogradCUDA);
}

void CudaDevice::tell_memory(messages::MemoryFigures& figures) const {
  tell_allocator(index_, figures);
  const std::optional<messages::DeviceGauges> gauges = gauges_.newest();
  if (!gauges || !gauges->used_bytes || gauges->total_bytes.value_or(0) == 0) {
    return;
  }
  const MemoryLimit before{.used_bytes = figures.used_bytes, .limit_bytes = figures.limit_bytes};
  const MemoryLimit own{.used_bytes = *gauges->used_bytes, .limit_bytes = *gauges->total_bytes};
  if (own.share() > before.share()) {
    figures.used_bytes = own.used_bytes;
    figures.limit_bytes = own.limit_bytes;
    figures.limit = "GPU";
  }
}

std::uint64_t CudaDevice::bytes_sent() const {
  return std::accumulate(sessions_.begin(), sessions_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const comm::NcclSession& session) {
                           return sum + session.bytes_sent();
                         });
}

// Gradient sums need no room here: CudaExchange allocates them after the workers have connected.
void CudaDevice::place(NetworkState& network, std::optional<MicrobatchRange> /*own*/,
                       comm::HostMemory& /*host*/) {
  // With NCCL's order of sums every worker updates everything.
  auto memory = std::make_unique<DeviceNetwork>(
      network, job_.numerics.order == SumOrder::kTree ? network.own_slices() : network.parts(),
      device_, stream_.get());
  networks_[&network] = memory.get();
  network.place_on(std::move(memory));
}

NetworkExchanges CudaDevice::connect(const PerNetwork<NetworkState*>& networks,
                                     const ExchangeSetup& setup) {
  meet(setup.transport, setup.lane);
  const PerNetwork<Sessions> sessions = begin_sessions(setup);
  NetworkExchanges exchanges;
  for (const NetworkId network : networks.ids()) {
    const ExchangeSetup* const own = setup.of(network);
    if (own == nullptr) {
      exchanges.add(std::make_unique<AbsentExchange>());
      continue;
    }
    NetworkState& state = *networks[network];
    auto exchange = std::make_unique<CudaExchange>(
        CudaExchangeSetup{.state = state,
                          .memory = *networks_.at(&state),
                          .network = network,
                          .exchange = *own,
                          .session = *sessions[network].group,
                          .worker = own->transport.worker(),
                          .whole = sessions[network].whole,
                          .job = job_,
                          .transport = execution_.transport,
                          .stream = stream_.get(),
                          .wait_for_launches = [this] {
                            std::ranges::for_each(exchanges_, &CudaExchange::wait_for_launches);
                          }});
    exchanges_.push_back(exchange.get());
    exchanges.add(std::move(exchange));
  }
  return exchanges;
}

PerNetwork<CudaDevice::Sessions> CudaDevice::begin_sessions(const ExchangeSetup& setup) {
  // Such a network gets its own session: its wait for the norm would delay networks on the same
  // stream, which holders of its other chunks may exchange earlier.
  const auto is_own_session = [&](NetworkId network) {
    return !setup.of(network)->whole.workers.empty() && job_.agrees_on_updates(network);
  };
  std::map<std::pair<std::vector<int>, std::optional<NetworkId>>, comm::NcclSession*> groups;
  const auto key = [&](NetworkId network) {
    return std::pair(setup.of(network)->workers,
                     is_own_session(network) ? std::optional(network) : std::nullopt);
  };
  for (const NetworkId network : job_.networks.ids()) {
    if (setup.of(network) != nullptr) {
      groups[key(network)] = nullptr;
    }
  }
  Meeting meeting{.world = setup.transport, .lane = setup.lane, .timeout = setup.timeout};
  if (execution_.nccl_ctas > 0) {
    meeting.max_ctas = execution_.nccl_ctas;
  }
  const auto begin = [&](const std::vector<int>& workers) {
    comm::NcclSession& session = begin_session(meeting, workers);
    if (!setup.by_network.empty()) {
      comm::connect_all(session);
    }
    return &session;
  };
  for (auto& [of, session] : groups) {
    session = begin(of.first);
  }
  PerNetwork<Sessions> found;
  for (const NetworkId network : job_.networks.ids()) {
    Sessions own;
    if (setup.of(network) != nullptr) {
      own.group = groups.at(key(network));
      own.whole =
          is_own_session(network) ? begin(in_order(setup.of(network)->whole.workers)) : nullptr;
    }
    found.add(own);
  }
  return found;
}

void CudaDevice::meet(comm::Transport& transport, comm::Lane& lane) {
  if (std::exchange(has_met_, true)) {
    return;
  }
  lane.wait(lane.submit([&] {
    const comm::DeviceSharing sharing =
        comm::find_device_sharing(transport, index_, kStartDeadline);
    if (sharing.pretended_host) {
      pretend_(*sharing.pretended_host);
    }
    shares_devices_ = sharing.is_any_shared;
  }));
}

comm::NcclSession& CudaDevice::begin_session(const Meeting& meeting,
                                             const std::vector<int>& workers) {
  ncclUniqueId id{};
  meeting.lane.wait(meeting.lane.submit([&] {
    if (workers.empty()) {
      id = comm::agree_on_unique_id(meeting.world, kStartDeadline);
    } else {
      comm::GroupTransport group(meeting.world, in_order(workers));
      id = comm::agree_on_unique_id(group, kStartDeadline);
    }
  }));
  comm::NcclSetup setup{.id = id,
                        .worker = meeting.world.worker(),
                        .num_workers = meeting.world.num_workers(),
                        .device = index_,
                        .max_ctas = meeting.max_ctas,
                        .timeout = meeting.timeout,
                        .meeting_timeout = kStartDeadline};
  if (!workers.empty()) {
    setup.group = workers;
    setup.worker = static_cast<int>(std::ranges::find(workers, setup.worker) - workers.begin());
    setup.num_workers = static_cast<int>(workers.size());
  }
  return sessions_.emplace_back(setup);
}

std::unique_ptr<TensorCarrier> CudaDevice::make_carrier(const CarrierSetup& setup) {
  meet(setup.transport, setup.lane);
  const ComputingDevice device{.index = index_, .torch = device_, .compute = stream_.get()};
  if (shares_devices_ && execution_.transport != TransportKind::kNccl) {
    return std::make_unique<StagedCarrier>(setup, device);
  }
  std::map<comm::TensorEdge, comm::NcclSession*> sessions;
  const Meeting meeting{.world = setup.transport,
                        .lane = setup.lane,
                        .timeout = setup.channel.timeout,
                        .max_ctas = kMostCtasOfAnEdge};
  for (const comm::TensorEdge& edge : setup.edges) {
    comm::NcclSession& session = begin_session(meeting, {edge.first, edge.second});
    comm::connect_one_way(session);
    sessions[edge] = &session;
  }
  return std::make_unique<NcclCarrier>(setup, device, std::move(sessions));
}

std::unique_ptr<BatchStaging> CudaDevice::make_staging(const StagingSetup& setup) {
  return std::make_unique<CudaStaging>(
      setup, ComputingDevice{.index = index_, .torch = device_, .compute = stream_.get()});
}

std::unique_ptr<GraphRecorder> CudaDevice::make_recorder() {
  return std::make_unique<CudaRecorder>(
      stream_.get(), execution_.cuda_graph == GraphChoice::kBranches ? kMostBranches : 0);
}

void CudaDevice::require_own_kernels() const {
  if (job_.numerics.kernels == KernelChoice::kDeterministic) {
    // LibTorch's convolutions catch this error and try the next cuDNN engine.
    TORCH_CHECK_WITH(OutOfMemoryError, failed_requests(index_) == 0,
                     "a request for GPU memory failed and LibTorch continued, perhaps with a "
                     "kernel of other bits");
  }
}

void CudaDevice::wait() { check(cudaStreamSynchronize(stream_.get()), "waiting for the GPU"); }

std::unique_ptr<DeviceMarks> CudaDevice::make_marks() {
  return std::make_unique<CudaMarks>(stream_.get());
}

std::optional<DeviceMemory> CudaDevice::memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the GPU's memory");
  return DeviceMemory{.num_devices = num_devices(),
                      .total_bytes = static_cast<std::int64_t>(total),
                      .used_bytes = static_cast<std::int64_t>(total - free)};
}

void CudaDevice::finish() {
  exchanges_.clear();
  for (comm::NcclSession& session : sessions_) {
    session.finalize();
  }
}

std::unique_ptr<ComputeDevice> make_cuda_device(const Job& job, const Execution& execution,
                                                const Neighbours& neighbours, int worker,
                                                CudaDevice::PretendHost pretend) {
  const int devices = num_devices();
  const int device =
      neighbours.exchange ? comm::own_device(devices, worker, neighbours.exchange) : 0;
  // Before the process starts reader threads and allocates host pages for copies to the GPU.
  (void)stay_near(kPciDevices, comm::bus_of(device));
  return std::make_unique<CudaDevice>(job, execution, device, std::move(pretend));
}

}  // namespace gangway::worker
