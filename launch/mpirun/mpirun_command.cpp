// SPDX-License-Identifier: MIT
#include "launch/mpirun/mpirun_command.hpp"

#include <initializer_list>

#include <fmt/format.h>

#include "base/text/shell_word.hpp"

namespace gangway::launch {
namespace {

// Seconds from SIGCONT to SIGTERM, and on to SIGKILL. On SIGTERM, mpirun sends its ranks SIGCONT at
// once; the job then saves and leaves (run/tether.hpp). mpirun then sleeps, even if no rank is
// left. It forwards SIGUSR1 at once. (Measured with Open MPI 4.1.4.)
constexpr int kSecondsFromTermToKill = 2;

// Bytes of gradients in a connection's kernel buffer, which delay tensors. The kernel's default is
// up to 4 MB, 32 ms at 1 Gbit/s (docs/measurements.md).
constexpr int kKernelBytesBesideTensors = 128 << 10;

// Maximum number of ranks that connect all to all at the start, which makes a recovery safer. 4,096
// ranks would make 8.4 million connections. Larger jobs make only needed ones, in the first step.
constexpr int kMostPreconnected = 64;

/// Returns the options for number, placement and transports of ranks.
std::vector<std::string> placement(const MpirunRequest& request) {
  std::vector<std::string> words{"-n", std::to_string(request.workers + 1), "--oversubscribe",
                                 "--bind-to", "none"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  // Exchange tags go up to 2^30; the UCX layer, which Open MPI prefers, allows only 2^23 - 1.
  add({"--mca", "pml", "ob1"});
  // Otherwise each process probes POSIX shared memory with a file in /dev/shm, and leaves the file
  // there if it is killed then.
  add({"--mca", "shmem", "mmap"});
  // Open MPI 5.0.7 finds no TCP path where an interface has addresses of both families (its issue
  // 14079). Gangway's own connections have IPv4 alone.
  add({"--mca", "btl_tcp_disable_family", "6"});
  if (request.hostfile.empty()) {
    const bool shares = request.host_messages == HostMessages::kSharedMemory;
    add({"--mca", "btl", shares ? "self,vader,tcp" : "self,tcp"});
  } else {
    // By slot: a host's workers have adjacent micro-batches, whose sums stay within the host.
    add({"--hostfile", request.hostfile.string(), "--map-by", "slot"});
    if (request.workers < kMostPreconnected) {
      add({"--mca", "mpi_preconnect_mpi", "1"});
    }
  }
  if (request.sends_tensors) {
    add({"--mca", "btl_tcp_sndbuf", std::to_string(kKernelBytesBesideTensors)});
  }
  return words;
}

}  // namespace

std::vector<std::string> mpirun_command(const MpirunRequest& request) {
  std::vector<std::string> words = placement(request);
  words.insert(words.begin(), {"mpirun", "--enable-recovery"});
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  add({"--mca", "odls_base_sigkill_timeout", std::to_string(kSecondsFromTermToKill)});
  // For Open MPI 5, which otherwise aborts ranks whose peer on another host dies, and ends the job
  // when one exits with an error, before the coordinator names the loss. Version 4 ignores both.
  add({"--mca", "mpi_ft_enable", "1", "--mca", "state_base_error_non_zero_exit", "0"});
  add({"-x", fmt::format("OMP_NUM_THREADS={}", request.threads)});
  for (const std::string& name : request.exported_variables) {
    add({"-x", name});
  }
  add({request.program.string(), "train"});
  words.insert(words.end(), request.train_arguments.begin(), request.train_arguments.end());
  return words;
}

std::vector<std::string> command_on_hosts(const MpirunRequest& request,
                                          const std::vector<std::string>& arguments) {
  std::vector<std::string> words = placement(request);
  words.insert(words.begin(), "mpirun");
  for (const std::string& name : request.exported_variables) {
    words.insert(words.end(), {"-x", name});
  }
  words.push_back(request.program.string());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  return line;
}

}  // namespace gangway::launch
