// SPDX-License-Identifier: MIT
#include "launch/init/manifests.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/units.hpp"
#include "job/data_source.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/http_address.hpp"
#include "launch/init/templates.hpp"
#include "launch/mpirun/mpirun_command.hpp"

namespace gangway::launch {
namespace {

// What the coordinator, mpirun and the shell take, and what a worker's CUDA takes on its host.
constexpr double kCoordinatorMib = 512;
constexpr double kCudaHostMib = 4096;
// Of the launcher pod: the above when it grows, and what scores a checkpoint beside it, which loads
// LibTorch and a feature network.
constexpr int kLauncherMib = 2048;
constexpr int kScorerMib = 4096;
constexpr int kRoundMib = 64;
// Over an estimate: the allocator, batches read ahead, a checkpoint that is being written.
constexpr double kMemoryMargin = 1.5;

bool computes_on_gpus(const Manifest& manifest) {
  return manifest.spec.numerics.device == DeviceKind::kCuda;
}

/// Rounded up to what reads well.
int round_mib(double mib) { return (static_cast<int>(mib) / kRoundMib + 1) * kRoundMib; }

/// Of a node, in /dev/shm: two snapshots, and the gradients that workers show one another.
double shared_memory_mib(const Manifest& manifest) {
  const MemoryEstimate memory = estimate_memory(manifest.spec, manifest.workers);
  const auto bytes = 2 * (memory.weights_bytes + memory.optimizer_bytes + memory.gradients_bytes);
  constexpr double kOpenMpiMib = 64;
  return kOpenMpiMib + manifest.workers_per_node() * static_cast<double>(bytes) / kMebibyte;
}

double node_memory_mib(const Manifest& manifest) {
  const MemoryEstimate memory = estimate_memory(manifest.spec, manifest.workers);
  const double worker = computes_on_gpus(manifest)
                            ? kCudaHostMib
                            : kMemoryMargin * static_cast<double>(memory.total_bytes()) / kMebibyte;
  return kCoordinatorMib + manifest.workers_per_node() * worker + shared_memory_mib(manifest);
}

/// Checkpoints that are kept, one that is being written, and as much again for pictures and logs.
int storage_gib(const Manifest& manifest) {
  const MemoryEstimate memory = estimate_memory(manifest.spec, 1);
  const auto checkpoint = static_cast<double>(memory.weights_bytes + memory.optimizer_bytes);
  constexpr int kLeastGib = 5;
  return kLeastGib +
         static_cast<int>(2 * (manifest.spec.checkpoint.keep + 1) * checkpoint / kGibibyte);
}

std::string if_any(int count) { return count > 0 ? std::to_string(count) : std::string(); }

std::string counted(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Where the launcher pod asks its coordinator how it does; nothing: the job shows no page.
std::optional<HttpAddress> page_address(const Manifest& manifest) {
  constexpr std::uint16_t kUsualPort = 8080;
  const std::string& said = manifest.spec.output.http;
  if (said == "off") {
    return std::nullopt;
  }
  HttpAddress address = parse_http_address(said).value_or(HttpAddress{});
  address.port = address.port == 0 ? kUsualPort : address.port;
  return address;
}

struct Probe {
  const char* kind;
  const char* path;
  int period_seconds;
  int failures;
};

/// By bash: a page that listens inside the pod alone is out of kubelet's own reach.
std::string probe_text(const Probe& probe, const HttpAddress& address) {
  const bool is_everywhere = address.host == "0.0.0.0" || address.host == "::";
  return fmt::format(
      R"({}:
  periodSeconds: {}
  failureThreshold: {}
  exec:
    command:
    - /bin/bash
    - -c
    - |
      exec 3<>/dev/tcp/{}/{} || exit 1
      printf 'GET {} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n' >&3
      read -r line <&3 && [[ $line == *' 200 '* ]]
)",
      probe.kind, probe.period_seconds, probe.failures, is_everywhere ? "127.0.0.1" : address.host,
      address.port, probe.path, address.port);
}

/// Ranks meet and load first; a coordinator that starts anew after a loss takes its time.
std::string probes(const Manifest& manifest) {
  constexpr std::array kProbes{Probe{"startupProbe", "/healthz", 5, 120},
                               Probe{"livenessProbe", "/healthz", 10, 12},
                               Probe{"readinessProbe", "/readyz", 10, 3}};
  std::string text;
  if (const auto address = page_address(manifest)) {
    for (const Probe& probe : kProbes) {
      text += probe_text(probe, *address);
    }
  }
  return text;
}

/// The port that is probed, where the job leaves it open.
std::vector<std::string> page_words(const Manifest& manifest) {
  const auto address = page_address(manifest);
  const bool is_open = address && parse_http_address(manifest.spec.output.http) != address;
  return is_open ? std::vector<std::string>{fmt::format("output.http={}:{}", address->host,
                                                        address->port)}
                 : std::vector<std::string>{};
}

/// `gangway run` with what is the same everywhere, for a shell.
std::string run_words(const Manifest& manifest, const std::vector<std::string>& first,
                      const std::vector<std::string>& last) {
  std::vector<std::string> words = first;
  words.insert(words.end(), manifest.overrides.begin(), manifest.overrides.end());
  words.insert(words.end(), {"--run", manifest.name, "-n", std::to_string(manifest.workers),
                             "--resume", "auto"});
  words.insert(words.end(), last.begin(), last.end());
  return shell_line(words);
}

}  // namespace

void require_places(const Manifest& manifest) {
  require_workers(manifest.spec, manifest.workers);
  if (manifest.nodes > manifest.workers) {
    throw ConfigError(fmt::format(
        "--nodes {}: {} would leave some without work; use --nodes {} or -n {}", manifest.nodes,
        counted(manifest.workers, "worker"), manifest.workers, manifest.nodes));
  }
  if (manifest.gpus_per_node > 0 && manifest.workers_per_node() > manifest.gpus_per_node) {
    throw ConfigError(
        fmt::format("--gpus-per-node {}: {} on {} need {} each; use -n {} or --nodes {}",
                    manifest.gpus_per_node, counted(manifest.workers, "worker"),
                    counted(manifest.nodes, "node"), manifest.workers_per_node(),
                    manifest.gpus_per_node * manifest.nodes,
                    (manifest.workers + manifest.gpus_per_node - 1) / manifest.gpus_per_node));
  }
}

/// What the user types: a script that was printed has no name yet.
std::string shown_file(const Manifest& manifest) {
  return manifest.file == "-" ? "FILE" : manifest.file.string();
}

/// Compute threads, and where pictures are decoded, the thread that does it.
int cpus_per_worker(const JobSpec& spec) {
  const std::string& source = spec.data.source;
  const bool decodes = source.starts_with("images:") || source.starts_with("pairs:") ||
                       source.starts_with("unpaired:");
  return std::max(1, spec.numerics.threads) + (decodes ? 1 : 0);
}

/// "/opt/gangway/bin, /jobs/a.yaml, /data/photos.zip, /runs".
/// Where the data lie, absolute; empty: they are no files of the user's.
std::filesystem::path place_of_data(const Manifest& manifest) {
  const std::string& source = manifest.spec.data.source;
  const std::size_t colon = source.find(':');
  if (colon == std::string::npos || source.starts_with("toy:")) {
    return {};
  }
  const std::filesystem::path place(source.substr(colon + 1));
  const bool is_path = source.starts_with("images:") || source.starts_with(kPackSource) ||
                       source.starts_with("idx:") || place.is_absolute();
  return is_path ? (manifest.folder / place).lexically_normal() : std::filesystem::path();
}

std::string shared_places(const Manifest& manifest) {
  const std::filesystem::path data = place_of_data(manifest);
  return fmt::format("{}, {}{}{}, {}", manifest.gangway.parent_path().string(),
                     manifest.job_file.string(), data.empty() ? "" : ", ", data.string(),
                     manifest.outdir.string());
}

std::string slurm_script(const Manifest& manifest) {
  // Every node gets room for the coordinator: Slurm would else fill the first with all tasks that
  // its cores allow, and GPUs of the others would idle.
  return fill_template(
      slurm_template(),
      {{"NAME", manifest.name},
       {"FILE", shown_file(manifest)},
       {"COMMAND", manifest.command},
       {"SHARED", shared_places(manifest)},
       {"FOLDER", shell_line({manifest.folder.string()})},
       {"TIME_HINT",
        manifest.time ? ""
                      : "No limit is asked for: the partition's own holds (--time 12:00:00 asks)."},
       {"NODES", std::to_string(manifest.nodes)},
       {"TASKS_PER_NODE", std::to_string(manifest.workers_per_node() + 1)},
       {"CPUS_PER_TASK", std::to_string(cpus_per_worker(manifest.spec))},
       {"MEMORY_MIB", std::to_string(round_mib(node_memory_mib(manifest)))},
       {"GPUS_PER_NODE", if_any(manifest.gpus_per_node)},
       {"TIME", manifest.time ? slurm_time(*manifest.time) : ""},
       {"GRACE", std::to_string(manifest.grace.count())},
       {"WORKERS", counted(manifest.workers, "worker")},
       {"RUN_COMMAND",
        run_words(manifest, {manifest.gangway.string(), "run", manifest.job_file.string()},
                  {"--outdir", manifest.outdir.string()})}});
}

std::string kubernetes_job(const Manifest& manifest) {
  std::vector<std::string> first{"gangway", "run", "/job/job.yaml"};
  std::ranges::copy(page_words(manifest), std::back_inserter(first));
  const int cpus = manifest.workers_per_node() * std::max(1, manifest.spec.numerics.threads);
  const ScorePlace where = manifest.spec.evaluation.where;
  if (where == ScorePlace::kDevice) {
    throw ConfigError(
        "evaluation.where: device: the launcher's pod, where scores are taken, has no GPU; use "
        "beside, or spare");
  }
  const bool scores = manifest.spec.is_scored() && where != ScorePlace::kSpare;
  const std::filesystem::path data = place_of_data(manifest);
  const std::string name = kubernetes_name(manifest.name);
  const auto where_there_are_data = [&data](const std::string& text) {
    return data.empty() ? std::string() : text;
  };
  std::vector<std::string> last{"--hostfile", "/tmp/hostfile", "--outdir", "/runs"};
  if (!data.empty()) {  // behind what the user has typed
    const std::string& source = manifest.spec.data.source;
    last.push_back(fmt::format("data.source={}/data", source.substr(0, source.find(':') + 1)));
  }
  return fill_template(
      kubernetes_template(),
      {{"NAME", name},
       {"FILE", manifest.file.string()},
       {"COMMAND", manifest.command},
       {"DATA_TODO",
        where_there_are_data(fmt::format(
            "# TODO: make the claim {}-data, of a volume with a copy of {}: all pods read it.",
            name, data.string()))},
       {"DATA_MOUNT", where_there_are_data("- {name: data, mountPath: /data, readOnly: true}")},
       {"DATA_VOLUME",
        where_there_are_data(fmt::format(
            "- {{name: data, persistentVolumeClaim: {{claimName: {}-data, readOnly: true}}}}",
            name))},
       {"JOB", manifest.job_text},
       {"STORAGE_GIB", std::to_string(storage_gib(manifest))},
       {"SLOTS", std::to_string(manifest.workers_per_node())},
       {"TIME_SECONDS", manifest.time ? std::to_string(manifest.time->count()) : ""},
       {"GRACE", std::to_string(manifest.grace.count())},
       {"IMAGE", manifest.image},
       {"PROBES", probes(manifest)},
       {"LAUNCHER_MIB", std::to_string(kLauncherMib + (scores ? kScorerMib : 0))},
       {"NODES", std::to_string(manifest.nodes)},
       {"CPUS", std::to_string(cpus)},
       {"MEMORY_MIB", std::to_string(round_mib(node_memory_mib(manifest)))},
       {"GPUS_PER_NODE", if_any(manifest.gpus_per_node)},
       {"SHARED_MEMORY_MIB", std::to_string(round_mib(shared_memory_mib(manifest)))},
       {"RUN_COMMAND", run_words(manifest, first, last)}});
}

std::string container_file(const Manifest& manifest) {
  const bool has_gpus = computes_on_gpus(manifest);
  const std::string programs =
      "release gangway gangway-tools gangway-coordinator gangway-worker gangway-model "
      "gangway-control";
  return fill_template(
      container_template(),
      {{"NAME", manifest.name},
       {"FILE", manifest.file.string()},
       {"COMMAND", manifest.command},
       {"IMAGE", manifest.image},
       {"DEVICE", has_gpus ? "GPUs" : "CPUs"},
       {"SETUP", has_gpus ? "everything" : "training"},
       {"BUILD",
        has_gpus
            ? fmt::format("{} gangway-worker-cuda gangway-model-cuda gangway-bench-nccl", programs)
            : fmt::format("--without cuda {}", programs)}});
}

std::string kubernetes_name(const std::string& run_name) {
  constexpr std::size_t kMost = 40;  // what Kubernetes adds for pods comes on top; 63 in all
  std::string name;
  for (const char character : run_name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(character)) != 0;
    if (fits || (!name.empty() && name.back() != '-')) {
      name += fits ? static_cast<char>(std::tolower(static_cast<unsigned char>(character))) : '-';
    }
  }
  name.resize(std::min(name.size(), kMost));
  while (!name.empty() && name.back() == '-') {
    name.pop_back();
  }
  // A service's name begins with a letter.
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0
             ? fmt::format("gangway-{}", name.empty() ? "job" : name)
             : name;
}

std::chrono::seconds parse_time_limit(const std::string& text) {
  const auto refuse = [&text] {
    return ConfigError(fmt::format(
        "--time '{}': give minutes, or hours as 12:00:00, or days as 2-12:00:00", text));
  };
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string::npos;
  std::vector<long> parts;  // days first, where there are any
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("-:", begin), text.size());
    long value = -1;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc{} || stop != text.data() + end || value < 0 || value > 100'000) {
      throw refuse();
    }
    parts.push_back(value);
    begin = end + 1;
  }
  if (parts.size() > (has_days ? 4U : 3U) || (has_days && parts.size() < 2) ||
      text.find('-', dash + 1) != std::string::npos || (has_days && text.find(':') < dash)) {
    throw refuse();
  }
  constexpr long kMinute = 60;
  constexpr long kHour = 60 * kMinute;
  constexpr long kDay = 24 * kHour;
  long seconds = 0;
  if (has_days) {
    parts.resize(4, 0);
    seconds = parts[0] * kDay + parts[1] * kHour + parts[2] * kMinute + parts[3];
  } else if (parts.size() == 1) {
    seconds = parts[0] * kMinute;
  } else if (parts.size() == 2) {
    seconds = parts[0] * kMinute + parts[1];
  } else {
    seconds = parts[0] * kHour + parts[1] * kMinute + parts[2];
  }
  if (seconds == 0) {
    throw refuse();
  }
  return std::chrono::seconds(seconds);
}

std::string slurm_time(std::chrono::seconds time) {
  const auto seconds = time.count();
  return fmt::format("{}-{:02}:{:02}:{:02}", seconds / 86'400, seconds / 3'600 % 24,
                     seconds / 60 % 60, seconds % 60);
}

}  // namespace gangway::launch
