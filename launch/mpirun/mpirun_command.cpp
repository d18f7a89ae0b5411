// SPDX-License-Identifier: MIT
#include "launch/mpirun/mpirun_command.hpp"

#include <initializer_list>

#include <fmt/format.h>

#include "base/text/shell_word.hpp"

namespace gangway::launch {
namespace {

// mpirun upon SIGTERM sends its ranks SIGCONT at once, at which the job saves and leaves
// (run/tether.hpp). It sends SIGTERM after so many seconds, and SIGKILL after as many again. It
// sleeps meanwhile, even when all ranks have left. (Measured with Open MPI 4.1.4. It passes SIGUSR1
// on at once.)
constexpr int kSecondsFromTermToKill = 2;

// Of gradients that a connection's kernel holds back, in what no tensor overtakes. By default it
// takes up to 4 MB, 32 ms at 1 Gbit/s (docs/measurements.md).
constexpr int kKernelBytesBesideTensors = 128 << 10;

// Connections that are made only when first used are the weak point of a recovery. But all to all
// of 4,096 ranks are 8.4 million of them, a quarter of a million sockets on a host of 64: of more
// ranks than this those that a step needs are made in the first one.
constexpr int kMostPreconnected = 64;

/// How many ranks, where, and over what they talk.
std::vector<std::string> placement(const MpirunRequest& request) {
  std::vector<std::string> words{"-n", std::to_string(request.workers + 1), "--oversubscribe",
                                 "--bind-to", "none"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  // The tags of exchanges go up to 2^30. Where UCX is there, Open MPI prefers its own UCX layer,
  // and that allows 2^23 - 1 only.
  add({"--mca", "pml", "ob1"});
  // Else each process asks whether POSIX shared memory would do, too, by making a file in /dev/shm
  // and removing it: one killed in between leaves it there.
  add({"--mca", "shmem", "mmap"});
  if (request.hostfile.empty()) {
    const bool shares = request.host_messages == HostMessages::kSharedMemory;
    add({"--mca", "btl", shares ? "self,vader,tcp" : "self,tcp"});
  } else {
    // By slot, the workers of a host hold adjacent micro-batches, whose sums stay within the host.
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
