// SPDX-License-Identifier: MIT
#include "launch/doctor.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/message_segments.hpp"
#include "base/shared_segment.hpp"
#include "base/system/usable_cores.hpp"
#include "base/this_host.hpp"
#include "base/units.hpp"
#include "checkpoint/snapshots/snapshot_files.hpp"
#include "checkpoint/snapshots/snapshot_runs.hpp"
#include "launch/built_with.hpp"
#include "launch/checkpoints/snapshot_commands.hpp"
#include "launch/hosts/ask_hosts.hpp"
#include "launch/hosts/compare_hosts.hpp"
#include "launch/hosts/gpus.hpp"
#include "launch/hosts/host_facts.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/command_output.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastDiskGib = 1.0;
constexpr double kLeastSharedMemoryGib = 0.0625;  // Open MPI's segments: 4 MiB a rank

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Finding find_libtorch() {
  const fs::path root = built_with().libtorch_root;
  if (const auto version = libtorch_version(root)) {
    return {"LibTorch", Health::kGood, *version};
  }
  return {"LibTorch", Health::kBad,
          fmt::format("no version file in '{}': run ./launch/setup", root.string())};
}

Finding find_cuda_toolkit() {
  if (built_with().cuda_toolkit.empty()) {
    return {"CUDA toolkit", Health::kNote,
            "built without; ./launch/build adds what computes on GPUs"};
  }
  return {"CUDA toolkit", Health::kGood,
          fmt::format("{} (at build time)", built_with().cuda_toolkit)};
}

Finding find_mpi() {
  const CommandOutput version = output_of("mpirun --version");
  if (version.code != 0) {
    return {"MPI", Health::kBad, "mpirun was not found: install openmpi-bin (./launch/setup does)"};
  }
  return {"MPI", Health::kGood, first_line(version.text)};
}

Finding run_two_ranks() {
  MpirunRequest request{.workers = 1,
                        .threads = 1,
                        .program = {},
                        .hostfile = {},
                        .exported_variables = {},
                        .train_arguments = {}};
  std::vector<std::string> words = mpirun_command(request);
  words.resize(words.size() - 2);  // not `gangway train`, but the coordinator's own test
  words.insert(words.end(), {(program_folder() / "gangway-coordinator").string(), "--smoke-test"});
  const std::string root =
      ::geteuid() == 0 ? "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " : "";
  const CommandOutput output = output_of(root + "timeout 60 " + shell_line(words));
  if (output.code != 0 || !output.text.empty()) {
    return {"mpirun, 2 ranks", Health::kBad,
            fmt::format("failed: {}: try '{}'", first_line(output.text), shell_line(words))};
  }
  return {"mpirun, 2 ranks", Health::kGood, "exchanged a message"};
}

Finding find_space(const std::string& item, const fs::path& folder, double least_gib) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) {
    return {item, Health::kBad,
            fmt::format("{} cannot be examined: does it exist?", folder.string())};
  }
  const double gib =
      static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize) / kGibibyte;
  if (gib < least_gib) {
    return {item, Health::kBad,
            fmt::format("{:.2f} GiB free in {}: free some", gib, folder.string())};
  }
  return {item, Health::kGood, fmt::format("{:.1f} GiB free in {}", gib, folder.string())};
}

Finding find_memory() {
  struct sysinfo info {};
  ::sysinfo(&info);
  return {
      "memory", Health::kGood,
      fmt::format("{:.1f} GiB", static_cast<double>(info.totalram) * info.mem_unit / kGibibyte)};
}

Finding find_cores() {
  const int cores = usable_cores();
  if (cores < 2) {
    return {
        "cores", Health::kNote,
        fmt::format("{}: several workers will share it (mpirun runs with --oversubscribe)", cores)};
  }
  return {"cores", Health::kGood, std::to_string(cores)};
}

Finding find_fashion_mnist() {
  const fs::path folder = "/usr/share/datasets/fashion-mnist";
  if (!fs::is_directory(folder)) {
    return {"Fashion-MNIST", Health::kNote,
            "missing: apt-get install dataset-fashion-mnist (./launch/setup does)"};
  }
  return {"Fashion-MNIST", Health::kGood, folder.string()};
}

Finding find_programs() {
  std::string missing;
  for (const char* name : {"gangway-coordinator", "gangway-worker", "gangway-worker-cuda",
                           "gangway-model", "gangway-model-cuda"}) {
    if (!fs::exists(program_folder() / name)) {
      missing += std::string(missing.empty() ? "" : ", ") + name;
    }
  }
  if (!missing.empty()) {
    return {"programs", Health::kBad,
            fmt::format("{} not in {}: build them (./launch/build)", missing,
                        program_folder().string())};
  }
  return {"programs", Health::kGood, program_folder().string()};
}

Finding find_user(const Environment& environment) {
  if (::geteuid() != 0) {
    return {"user", Health::kGood, "not root"};
  }
  const bool allowed = find_variable(environment, "OMPI_ALLOW_RUN_AS_ROOT").has_value();
  return {"user", Health::kNote,
          allowed ? "root; OMPI_ALLOW_RUN_AS_ROOT is set"
                  : "root: gangway run allows it; for a bare mpirun set OMPI_ALLOW_RUN_AS_ROOT=1 "
                    "and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
}

/// What is asked of several hosts.
struct HostQuestion {
  std::vector<std::string> names;
  fs::path hostfile;
  bool json = false;
  bool verbose = false;
};

int examine_hosts(const HostQuestion& question, const Environment& environment) {
  constexpr std::chrono::seconds kLimit{30};  // a host behind a firewall never answers
  std::vector<std::string> names = question.names;
  if (!question.hostfile.empty()) {
    for (const Host& host : read_hostfile(question.hostfile)) {
      names.push_back(host.name);
    }
  }
  const std::vector<std::string> forwarded = exported_variables(environment);
  if (question.verbose) {
    std::cout << fmt::format(
        "forwarded to other hosts: {}\n",
        forwarded.empty() ? "nothing" : fmt::format("{}", fmt::join(forwarded, ", ")));
  }
  let_root_use_mpirun();
  const std::vector<AskedHost> hosts =
      ask_hosts(names, program_folder() / "gangway", forwarded, kLimit);
  const std::vector<Finding> findings = compare_hosts(hosts);
  if (question.json) {
    std::cout << hosts_json(hosts) << std::flush;
  } else {
    std::cout << hosts_table(hosts) << '\n'
              << (findings.empty() ? "the hosts fit one another\n" : findings_text(findings))
              << std::flush;
  }
  return is_healthy(findings) ? 0 : static_cast<int>(ExitCode::kEnvironment);
}

std::string user_name(uid_t user) {
  const passwd* const entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : fmt::format("user {}", user);
}

}  // namespace

std::vector<Finding> examine(const Environment& environment) {
  std::vector<Finding> findings{
      {"gangway", Health::kGood, GANGWAY_VERSION},
      find_programs(),
      find_libtorch(),
      find_mpi(),
      run_two_ranks(),
      find_cuda_toolkit(),
      {"Protobuf", Health::kGood, fmt::format("{} (at build time)", built_with().protobuf)},
      {"gRPC", Health::kGood, fmt::format("{} (at build time)", built_with().grpc)},
      find_cores(),
      find_memory(),
      clean_shared_memory(kSharedMemoryFolder)};
  std::ranges::move(clean_snapshots(kSharedMemoryFolder), std::back_inserter(findings));
  findings.push_back(find_space("/dev/shm", kSharedMemoryFolder, kLeastSharedMemoryGib));
  findings.push_back(find_space("disk", fs::current_path(), kLeastDiskGib));
  findings.push_back(find_fashion_mnist());
  findings.push_back(find_user(environment));
  std::ranges::move(examine_gpus(built_with().cuda_toolkit, environment),
                    std::back_inserter(findings));
  if (const std::optional<Finding> binding = find_gpu_binding(environment)) {
    findings.push_back(*binding);
  }
  return findings;
}

Finding clean_shared_memory(const fs::path& folder) {
  const std::size_t removed = reap_segments(folder) + reap_message_segments(folder).removed;
  if (removed > 0) {
    return {"shared memory", Health::kNote,
            fmt::format("removed {} that killed workers or launchers left in {}", removed,
                        folder.string())};
  }
  return {"shared memory", Health::kGood, "no killed worker left any"};
}

std::vector<Finding> clean_snapshots(const fs::path& folder) {
  const std::string item = "snapshots";
  const checkpoint::ReapedSnapshots reaped = checkpoint::reap_snapshots(folder);
  const checkpoint::SnapshotSurvey survey = checkpoint::survey_snapshots(folder);
  std::vector<Finding> findings;
  if (reaped.removed > 0) {
    findings.push_back(
        {item, Health::kNote,
         fmt::format("removed {} of runs that are over or were left for {} ({:.1f} MiB)",
                     reaped.removed, checkpoint::duration_text(checkpoint::kSnapshotsKept),
                     static_cast<double>(reaped.removed_bytes) / kMebibyte)});
  }
  for (const checkpoint::RunSnapshots& run : survey.runs) {
    findings.push_back(
        {item, Health::kNote,
         fmt::format("{}: {}", run.run_directory.string(),
                     describe_snapshots(run, folder, fs::file_time_type::clock::now()))});
  }
  for (const checkpoint::ForeignSnapshots& others : survey.foreign) {
    findings.push_back({item, Health::kNote,
                        fmt::format("{} of {} ({:.1f} MiB)", others.files, user_name(others.user),
                                    static_cast<double>(others.bytes) / kMebibyte)});
  }
  if (findings.empty()) {
    findings.push_back({item, Health::kGood, "none were left"});
  }
  return findings;
}

std::optional<Finding> find_gpu_binding(const Environment& environment) {
  for (const char* name : {"SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_GPU_BIND"}) {
    const auto value = find_variable(environment, name);
    const auto binding = find_variable(environment, "SLURM_GPU_BIND");
    if (value && !value->empty() && binding.value_or("") != "none") {
      return Finding{
          "GPUs of a task", Health::kNote,
          fmt::format("{}={}: a rank that sees its own GPU alone has no NVLink to others "
                      "of its node (NVIDIA/nccl#1066); ask for --gpus-per-node, with "
                      "--gpu-bind=none",
                      name, *value)};
    }
  }
  return std::nullopt;
}

void add_host_facts_command(CLI::App& app, CommandLine& line) {
  const auto asking = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("host-facts")->group("");
  command->add_option("asking", *asking)->required();
  command->callback([asking, &line] {
    line.action = [asking] {
      return tell_host_facts(read_host_facts(built_with().libtorch_root, split_at_commas(*asking)));
    };
  });
}

void add_doctor_command(CLI::App& app, CommandLine& line) {
  const auto question = std::make_shared<HostQuestion>();
  CLI::App* command = app.add_subcommand(
      "doctor", "What this machine has and lacks, or in what several hosts differ");
  command->add_flag("--json", question->json, "Print JSON");
  CLI::Option* hosts =
      command
          ->add_option("--hosts", question->names,
                       "Hosts to set beside one another, reached as a job would reach them")
          ->delimiter(',')
          ->type_name("A,B,...");
  command->add_option("--hostfile", question->hostfile, "The same, from a file for Open MPI")
      ->excludes(hosts);
  command->add_flag("-v,--verbose", question->verbose,
                    "Name the environment variables that ranks on other hosts get too");
  command->callback([question, &line] {
    line.action = [question, &line] {
      if (!question->names.empty() || !question->hostfile.empty()) {
        return examine_hosts(*question, line.environment);
      }
      const std::vector<Finding> findings = examine(line.environment);
      std::cout << (question->json ? findings_json(findings) : findings_text(findings))
                << std::flush;
      return is_healthy(findings) ? 0 : static_cast<int>(ExitCode::kEnvironment);
    };
  });
}

}  // namespace gangway::launch
