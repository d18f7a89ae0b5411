// SPDX-License-Identifier: MIT
// How fast a network is reduced over NCCL, by size and manner; one line each, from worker 0. Under
// mpirun, one rank more than workers. Bus bandwidth: 2 (n - 1) / n times the gradient's bytes over
// the time of gradients, update and weights together; for one worker the gradient's bytes alone.
#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "tests/gpu/gpu_network.hpp"
#include "tests/gpu/workers.hpp"

namespace gangway::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 7;

struct Manner {
  const char* name;
  NcclSession::Calls calls;
  NcclOrder order;
  WireType wire;
};

constexpr Manner kManners[] = {
    {"exact", NcclSession::Calls::kNonBlocking, NcclOrder::kExact, WireType::kFloat32},
    {"exact, blocking calls", NcclSession::Calls::kBlocking, NcclOrder::kExact, WireType::kFloat32},
    {"bf16 wire", NcclSession::Calls::kNonBlocking, NcclOrder::kExact, WireType::kBfloat16},
    {"NCCL's all-reduce", NcclSession::Calls::kNonBlocking, NcclOrder::kNcclOrder,
     WireType::kFloat32},
};

/// Median seconds of one reduction whose gradients are there already.
double seconds_of(NcclSession& session, const ArenaLayout& layout, const Manner& manner,
                  int num_workers) {
  GpuNetwork network(session, layout,
                     {.job = {.num_microbatches = num_workers},
                      .num_buckets = num_buckets_of(layout, kLeastDeviceBucketBytes),
                      .order = manner.order,
                      .wire = manner.wire});
  const CudaStream compute = make_compute_stream();
  network.reducer().prepare(constants_of(1), compute.get());
  check(cudaStreamSynchronize(compute.get()), "a round");
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    network.reducer().open();
    network.all_ready(compute.get());
    (void)network.reducer().advance();
    network.reducer().synchronise();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + kRounds / 2);
  return seconds[kRounds / 2];
}

void run(const MpiSession& mpi) {
  std::int64_t epoch = 0;
  for (const Manner& manner : kManners) {
    MpiTransport transport(mpi, ++epoch, [] {});
    NcclSession session(session_setup(transport, manner.calls));
    const int workers = transport.num_workers();
    for (const std::size_t megabytes : {1U, 4U, 16U, 64U}) {
      const std::size_t elements = (megabytes << 20U) / sizeof(float);
      const std::vector<ArenaLayout::Tensor> parameters{{"weight", elements}};
      const ArenaLayout layout(parameters, {});
      const double seconds = seconds_of(session, layout, manner, workers);
      const double factor = workers == 1 ? 1.0 : 2.0 * (workers - 1) / workers;
      if (transport.worker() == 0) {
        fmt::print("{:<22} {:>2} workers {:>4} MB {:>9.3f} ms {:>8.2f} GB/s\n", manner.name,
                   workers, megabytes, seconds * 1e3,
                   factor * static_cast<double>(elements * sizeof(float)) / seconds * 1e-9);
      }
    }
    session.finalize();
  }
}

}  // namespace
}  // namespace gangway::comm

int main() {
  gangway::comm::MpiSession mpi;
  int code = 0;
  if (mpi.rank() != gangway::Rank(0)) {
    try {
      gangway::comm::run(mpi);
    } catch (const gangway::Error& error) {
      fmt::print("worker {}: {}\n", worker_of(mpi.rank()), error.what());
      code = 1;
    }
  }
  (void)std::fflush(stdout);
  mpi.finalize(code, std::chrono::seconds(300));
  return code;
}
