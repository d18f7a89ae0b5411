// SPDX-License-Identifier: MIT
#include "launch/run/train.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/message_segments.hpp"
#include "base/process_identity.hpp"
#include "base/text/parse_number.hpp"
#include "base/this_host.hpp"
#include "job/choices.hpp"
#include "job/file/parse.hpp"
#include "launch/data/followed_data.hpp"
#include "launch/mpirun/host_check.hpp"
#include "launch/process/gpus.hpp"
#include "run/liveness/connection.hpp"
#include "run/tether.hpp"
#include "run/tether_protocol.hpp"

namespace gangway::launch {
namespace {

// Enough to reach a live supervisor, even if a network drops packets to some addresses.
constexpr std::chrono::seconds kTetherPatience{30};

Rank number(const std::string& name, const std::string& text) {
  const auto value = parse_number<int>(text);
  if (!value || *value < 0) {
    throw EnvironmentError(fmt::format(
        "{}='{}' is no rank: start with mpirun, srun --mpi=pmix or gangway run", name, text));
  }
  return Rank(*value);
}

/// Blocks signals until the rank can handle them, so that they neither kill it nor get lost.
void hold_signals(Rank rank) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCONT);  // for the tether; stopped processes still continue
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT}) {
    if (rank != Rank(0)) {
      std::signal(signal, SIG_IGN);  // the coordinator handles them for all ranks
    } else {
      sigaddset(&set, signal);
    }
  }
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

/// Sets Open MPI's transports unless the user has set them. Called in every rank, so that a bare
/// mpirun has them too.
void choose_message_paths() {
  // Exchange tags go up to 2^30; the UCX layer, which Open MPI prefers, allows only 2^23 - 1.
  ::setenv("OMPI_MCA_pml", "ob1", /*overwrite=*/0);
  ::setenv("OMPI_MCA_shmem", "mmap", /*overwrite=*/0);
  // As in launch/mpirun/mpirun_command.cpp.
  ::setenv("OMPI_MCA_btl_tcp_disable_family", "6", /*overwrite=*/0);
}

/// Connects to the supervisor, if any; it then notices the end of this process at once.
InheritedTether tie(const Environment& environment, Rank rank) {
  InheritedTether tether{.socket = -1, .launcher = ::getppid()};
  const auto text = find_variable(environment, kTetherVariable);
  const auto address = text ? parse_address(*text) : std::nullopt;
  if (address) {
    ::unsetenv(kTetherVariable);
    const std::string words =
        tether_words({.rank = rank,
                      .process = own_process(),
                      .job = message_job(find_variable(environment, "PMIX_NAMESPACE").value_or("")),
                      .host = host_name()});
    tether.socket = connect_and_greet(*address, {.rank = rank, .words = words}, kTetherPatience,
                                      "'gangway run'")
                        .release();
  }
  return tether;
}

/// Returns values of keys that the job leaves open: a bare mpirun lacks them. The coordinator
/// reports errors of the job. @throws ConfigError if the data cannot be read
std::vector<std::string> followed_overrides(const JobSources& sources) {
  FollowedData followed;
  try {
    (void)load_job(sources, [&followed](const OpenKeys& open) {
      followed = follow_data(open);
      return followed.overrides;
    });
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): see above
  }
  if (!followed.unseen.empty()) {
    throw ConfigError(followed.unseen);
  }
  return followed.overrides;
}

/// Returns whether the job uses a GPU, if it can be read; the coordinator reports its errors.
bool wants_gpu(const JobSources& sources, const std::string& device) {
  if (!device.empty()) {
    return device == name_of(DeviceKind::kCuda);
  }
  try {
    return load_job(sources, [](const OpenKeys& open) {
             return open.device ? follow_data({.device = true}).overrides
                                : std::vector<std::string>();
           }).spec.numerics.device == DeviceKind::kCuda;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Rank launched_rank(const Environment& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
    if (const auto rank = find_variable(environment, name)) {
      return number(name, *rank);
    }
  }
  if (const auto tasks = find_variable(environment, "SLURM_NTASKS");
      tasks && find_variable(environment, "SLURM_PROCID")) {
    throw EnvironmentError(fmt::format(
        "Slurm started {} tasks that do not know one another: use 'srun --mpi=pmix gangway train "
        "...', or 'mpirun gangway train ...' inside the allocation",
        *tasks));
  }
  throw EnvironmentError(
      "not started by mpirun: use 'gangway run JOB.yaml -n 2', or 'mpirun -n 3 gangway train "
      "JOB.yaml' for a "
      "coordinator and two workers");
}

void train(const Environment& environment, RankOptions options) {
  StartRequest& asked = options.asked;
  if (options.request.empty() && asked.job_file.empty()) {
    throw ConfigError("gangway train: name a job file, as in: mpirun -n 3 gangway train JOB.yaml");
  }
  const JobSources sources{.file = asked.job_file,
                           .overrides = asked.overrides,
                           .environment = gangway_variables(environment)};
  const Rank rank = launched_rank(environment);
  hold_signals(rank);
  const std::string tether = tether_argument(tie(environment, rank));
  choose_message_paths();
  if (rank == Rank(0) && options.request.empty()) {
    std::ranges::move(followed_overrides(sources), std::back_inserter(asked.overrides));
    asked.device = facts_of_device(wants_gpu(sources, {}) ? DeviceKind::kCuda : DeviceKind::kCpu);
    become("gangway-coordinator", {to_json(asked), tether});
  }
  if (rank == Rank(0)) {
    become("gangway-coordinator", {options.request.string(), tether});
  }
  // LibTorch's profiler (--trace) reports an error if a GPU build finds no GPU; level 5 is silent.
  ::setenv("KINETO_LOG_LEVEL", "5", /*overwrite=*/0);
  if (wants_gpu(sources, options.device)) {
    // Makes cuBLAS add in a fixed order (its documentation, "Results reproducibility"), which
    // LibTorch's deterministic mode requires.
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
    // Selects cuDNN's better heuristics for kernels, as deterministic as its fast ones
    // (docs/measurements.md, On a GPU).
    ::setenv("TORCH_CUDNN_USE_HEURISTIC_MODE_B", "1", /*overwrite=*/0);
    become("gangway-worker-cuda", {tether});
  }
  become("gangway-worker", {tether});
}

}  // namespace gangway::launch
