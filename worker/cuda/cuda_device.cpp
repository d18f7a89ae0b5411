// SPDX-License-Identifier: MIT
#include "worker/cuda/cuda_device.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "comm/nccl/shared_device.hpp"
#include "comm/nccl/unique_id.hpp"
#include "gan/kernels/convolution.hpp"
#include "run/control_protocol.hpp"
#include "worker/cuda/cuda_recorder.hpp"
#include "worker/cuda/cuda_staging.hpp"
#include "worker/cuda/torch_cuda.hpp"
#include "worker/gauges/gpu_gauges.hpp"

namespace gangway::worker {
namespace {

using comm::check;

/// Small pictures of a fast network take that many; more wait for each other.
constexpr int kMostReaders = 8;

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

/// Threads that read pictures: of a worker's cores those that neither compute nor carry messages.
int readers_beside(int sharing_cores) {
  constexpr int kOwn = 2;  // the compute thread, the lane
  const int cores = static_cast<int>(std::thread::hardware_concurrency()) / sharing_cores;
  return std::clamp(cores - kOwn, 1, kMostReaders);
}

comm::CudaStream make_compute_stream(int index) {
  check(cudaSetDevice(index), "choosing the GPU");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making the compute stream");
  return comm::CudaStream(stream);
}

}  // namespace

CudaDevice::CudaDevice(const JobSpec& job, Place place, PretendHost pretend)
    : job_(job),
      index_(place.index),
      readers_(readers_beside(place.sharing_cores)),
      pretend_(std::move(pretend)),
      kind_(name_of_device(index_)),
      stream_(make_compute_stream(index_)),
      device_(torch_device(index_)),
      gauges_({.library = kNvmlLibrary, .bus = comm::bus_of(index_)}) {
  compute_on(index_, stream_.get());
  choose_kernels(job_.numerics.kernels);
  gan::derive_convolutions_well(c10::DispatchKey::AutogradCUDA);
}

CudaDevice::~CudaDevice() = default;

// Its gradients are summed in the device's memory, once the workers have met.
void CudaDevice::place(NetworkState& network, MicrobatchRange /*own*/, comm::HostMemory& /*host*/) {
  auto memory = std::make_unique<DeviceNetwork>(network, device_, stream_.get());
  networks_[&network] = memory.get();
  network.place_on(std::move(memory));
}

NetworkExchanges CudaDevice::connect(const PerNetwork<NetworkState*>& networks,
                                     const ExchangeSetup& setup) {
  meet(setup);
  NetworkExchanges exchanges;
  for (const NetworkId network : networks.ids()) {
    NetworkState& state = *networks[network];
    auto exchange = std::make_unique<CudaExchange>(
        CudaExchange::Setup{.state = state,
                            .memory = *networks_.at(&state),
                            .network = network,
                            .exchange = setup,
                            .session = *session_,
                            .worker = setup.transport.worker(),
                            .job = job_,
                            .stream = stream_.get(),
                            .wait_for_launches = [this] {
                              std::ranges::for_each(exchanges_, &CudaExchange::wait_for_launches);
                            }});
    exchanges_.push_back(exchange.get());
    exchanges.add(std::move(exchange));
  }
  return exchanges;
}

void CudaDevice::meet(const ExchangeSetup& setup) {
  ncclUniqueId id{};
  setup.lane.wait(setup.lane.submit([&] {
    if (const auto host = comm::pretended_host(setup.transport, index_, kStartDeadline)) {
      pretend_(*host);
    }
    id = comm::agree_on_unique_id(setup.transport, kStartDeadline);
  }));
  session_.emplace(comm::NcclSession::Setup{.id = id,
                                            .worker = setup.transport.worker(),
                                            .num_workers = setup.transport.num_workers(),
                                            .device = index_,
                                            .timeout = setup.timeout,
                                            .meeting_timeout = kStartDeadline});
}

std::unique_ptr<BatchStaging> CudaDevice::make_staging(const StagingSetup& setup) {
  return std::make_unique<CudaStaging>(
      setup, CudaStaging::Device{
                 .index = index_, .torch = device_, .compute = stream_.get(), .readers = readers_});
}

std::unique_ptr<GraphRecorder> CudaDevice::make_recorder() {
  return std::make_unique<CudaRecorder>(stream_.get());
}

void CudaDevice::finish() {
  exchanges_.clear();
  if (session_) {
    session_->finalize();
  }
}

std::unique_ptr<ComputeDevice> make_cuda_device(const JobSpec& job, const Neighbours& neighbours,
                                                CudaDevice::PretendHost pretend) {
  return std::make_unique<CudaDevice>(
      job,
      CudaDevice::Place{.index = neighbours.place_on_machine % num_devices(),
                        .sharing_cores = neighbours.workers_on_machine},
      std::move(pretend));
}

}  // namespace gangway::worker
