// SPDX-License-Identifier: MIT
// gangway-bench-nccl: measures NCCL's own all-reduce between the GPUs of a host, under mpirun with
// a rank for each GPU and rank 0, which sleeps. Worker 0 prints a line of JSON
// (bench/allreduce/figures.hpp). Shows what the links carry; tests/gpu/nccl_bandwidth.cpp measures
// Gangway's use of them.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "base/errors.hpp"
#include "bench/allreduce/figures.hpp"
#include "bench/rank_zero.hpp"
#include "bench/run_bench.hpp"
#include "comm/nccl/check_nccl.hpp"
#include "comm/nccl/nccl_memory.hpp"
#include "comm/nccl/nccl_session.hpp"
#include "comm/nccl/shared_device.hpp"
#include "comm/nccl/unique_id.hpp"
#include "comm/transport/mpi_session.hpp"
#include "comm/transport/mpi_transport.hpp"

namespace gangway::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kName = "NCCL";
constexpr std::chrono::seconds kTimeout{30};
constexpr int kWarmUps = 5;
constexpr int kRounds = 20;

Samples seconds_of(comm::NcclSession& session, std::size_t bytes) {
  const comm::NcclMemory memory = comm::allocate_nccl_memory(bytes);
  const comm::NcclRegistration registration(session, memory.get(), bytes);
  Samples samples;
  for (int round = 0; round < kWarmUps + kRounds; ++round) {
    const auto begin = Clock::now();
    session.group("an all-reduce", [&](ncclComm_t communicator) {
      comm::check(ncclAllReduce(memory.get(), memory.get(), bytes / sizeof(float), ncclFloat,
                                ncclSum, communicator, session.stream()),
                  "an all-reduce");
    });
    session.watch(session.stream(), "an all-reduce");
    comm::check(cudaStreamSynchronize(session.stream()), "an all-reduce");
    session.throw_if_failed();
    if (round >= kWarmUps) {
      samples.seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
  }
  return samples;
}

void work(const comm::MpiSession& mpi) {
  comm::MpiTransport transport(mpi, 0, [] {});
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    throw EnvironmentError("there is no GPU that CUDA can use: see nvidia-smi");
  }
  const int device = transport.worker() % devices;
  comm::check(cudaSetDevice(device), "choosing the device");
  if (const auto host = comm::find_device_sharing(transport, device, kTimeout).pretended_host) {
    (void)::setenv("NCCL_HOSTID", host->c_str(), 1);
  }
  comm::NcclSession session({.id = comm::agree_on_unique_id(transport, kTimeout),
                             .worker = transport.worker(),
                             .num_workers = transport.num_workers(),
                             .device = device,
                             .max_ctas = 32,  // no compute runs beside it
                             .timeout = kTimeout,
                             .meeting_timeout = kTimeout});
  std::vector<Figure> figures;
  for (const std::size_t megabytes : {1U, 16U, 64U}) {
    const std::size_t bytes = megabytes << 20U;
    figures.push_back({kName, bytes, seconds_of(session, bytes)});
  }
  session.finalize();
  if (transport.worker() == 0) {
    std::cout << figures_json(transport.num_workers(), figures) << std::flush;
  }
}

int run() {
  comm::MpiSession mpi;
  if (mpi.rank() == Rank(0)) {
    sleep_until_the_end(mpi);
  } else {
    work(mpi);
    if (mpi.rank() == Rank(1)) {
      wake_rank_zero(mpi);
    }
  }
  mpi.finalize(0);
  return 0;
}

}  // namespace
}  // namespace gangway::bench

int main() { return gangway::bench::run_bench("gangway-bench-nccl", gangway::bench::run); }
