// SPDX-License-Identifier: MIT
#include "launch/hosts/gpus.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/command_output.hpp"

namespace gangway::launch {
namespace {

constexpr double kMebibytesInGibibyte = 1024;
/// Of an all-reduce of 64 MiB: a fifth of what four links of the first NVLink carry (80 GB/s), and
/// more than PCIe 3 does.
constexpr double kLeastOverNvlink = 16.0;

using Topology = std::vector<std::vector<std::string>>;

/// Nothing for "[N/A]" and the like.
std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && rest == text.data() + text.size() ? std::optional(number)
                                                                   : std::nullopt;
}

/// The number that a version begins with; 0: none.
int major_of(std::string_view version) {
  int number = 0;
  (void)std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

bool is_gpu_name(const std::string& word) {
  return word.size() > 3 && word.starts_with("GPU") && number_in(word.substr(3));
}

bool is_nvlink(const std::string& link) { return link.starts_with("NV"); }

struct GpuPair {
  std::size_t first = 0;
  std::size_t second = 0;
  std::string what;
};

std::vector<GpuPair> pairs_of(const Topology& table) {
  std::vector<GpuPair> pairs;
  for (std::size_t i = 0; i < table.size(); ++i) {
    for (std::size_t j = i + 1; j < table.size(); ++j) {
      pairs.push_back({i, j, table[i][j]});
    }
  }
  return pairs;
}

std::set<std::string> kinds_of(const std::vector<GpuPair>& pairs) {
  std::set<std::string> kinds;
  for (const GpuPair& pair : pairs) {
    kinds.insert(pair.what);
  }
  return kinds;
}

Finding judge_driver(const Gpu& gpu, std::string_view toolkit) {
  // The oldest driver that runs programs of a CUDA, by its first number: NVIDIA, CUDA release
  // notes, "minimum required driver version for minor version compatibility".
  const std::map<int, int> least{{11, 450}, {12, 525}, {13, 580}};
  const auto wanted = least.find(major_of(toolkit));
  if (wanted != least.end() && major_of(gpu.driver) < wanted->second) {
    return {"NVIDIA driver", Health::kBad,
            fmt::format("{} is older than CUDA {} needs: install {} or newer", gpu.driver,
                        wanted->first, wanted->second)};
  }
  constexpr int kLeastCapability = 8;  // CMAKE_CUDA_ARCHITECTURES in CMakeLists.txt
  if (const int capability = major_of(gpu.capability);
      capability > 0 && capability < kLeastCapability) {
    return {"NVIDIA driver", Health::kNote,
            fmt::format("{} is of compute capability {}, and kernels are built for {}.0 and newer: "
                        "build with cmake -DCMAKE_CUDA_ARCHITECTURES={}",
                        gpu.name, gpu.capability, kLeastCapability,
                        std::regex_replace(gpu.capability, std::regex("[.]"), ""))};
  }
  return {"NVIDIA driver", Health::kGood, gpu.driver};
}

std::vector<Finding> judge_memory(const std::vector<Gpu>& gpus) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].memory_faults.value_or(0) > 0) {
      findings.push_back(
          {"memory of GPUs", Health::kBad,
           fmt::format("GPU {} had {} errors that ECC could not mend: reset it (nvidia-smi -i {} "
                       "-r) or start the host anew; if they come again, have it replaced",
                       i, *gpus[i].memory_faults, i)});
    } else if (gpus[i].ecc == "Disabled") {
      findings.push_back(
          {"memory of GPUs", Health::kNote,
           fmt::format("GPU {} has ECC turned off: a bit that flips changes a training in silence; "
                       "turn it on (nvidia-smi -i {} -e 1, then start the host anew)",
                       i, i)});
    }
  }
  return findings;
}

/// What gangway-bench-nccl tells of so many GPUs. @throws EnvironmentError with its last words
nlohmann::json nccl_figures(int gpus, const std::filesystem::path& program,
                            const Environment& environment) {
  let_root_use_mpirun();
  std::vector<std::string> command =
      command_on_hosts({.workers = gpus,
                        .program = program,
                        .hostfile = {},
                        .exported_variables = exported_variables(environment)},
                       {});
  command.insert(command.begin(), {"timeout", "120"});  // NCCL has hung where links were broken
  const ChildOutput output = output_of_child(command, ToldToEnd::kAtOnce);
  const std::string said = output.text.substr(0, output.text.find_last_not_of('\n') + 1);
  const std::string last = said.substr(said.rfind('\n') + 1);
  nlohmann::json figures = nlohmann::json::parse(last, nullptr, false);
  if (output.code != 0 || !figures.is_object()) {
    throw EnvironmentError(fmt::format("'{}' failed: {}", shell_line(command), last));
  }
  return figures;
}

Finding measured_over_nccl(std::size_t gpus, bool has_nvlink, const Environment& environment) {
  const std::filesystem::path program = program_folder() / "gangway-bench-nccl";
  if (!std::filesystem::exists(program)) {
    return {"NCCL", Health::kNote,
            "not measured: build gangway-bench-nccl (./launch/build release gangway-bench-nccl)"};
  }
  try {
    const nlohmann::json figures =
        nccl_figures(static_cast<int>(gpus), program, environment)["rows"];
    double most = 0.0;
    for (const nlohmann::json& row : figures) {
      most = std::max(most, row["bytes_per_second"].get<double>());
    }
    return judge_nccl(gpus, most * 1e-9, has_nvlink);
  } catch (const EnvironmentError& error) {
    return {"NCCL", Health::kBad,
            fmt::format("{}: NCCL_DEBUG=INFO in front of that command tells more", error.what())};
  }
}

}  // namespace

std::vector<Gpu> parse_gpus(std::string_view lines) {
  constexpr std::size_t kFields = 6;  // of kGpuQuery
  std::vector<Gpu> gpus;
  std::istringstream text{std::string(lines)};
  for (std::string line; std::getline(text, line);) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
      fields.push_back(word);
    }
    if (fields.size() != kFields || !number_in(fields[1])) {
      continue;
    }
    gpus.push_back({.name = fields[0],
                    .memory_gib = static_cast<double>(*number_in(fields[1])) / kMebibytesInGibibyte,
                    .driver = fields[2],
                    .capability = fields[3],
                    .ecc = fields[4],
                    .memory_faults = number_in(fields[5])});
  }
  return gpus;
}

std::vector<Gpu> read_gpus() {
  // A driver whose GPU has fallen off the bus keeps it waiting.
  return parse_gpus(
      output_of(fmt::format("timeout 20 nvidia-smi --query-gpu={} --format=csv,noheader,nounits",
                            kGpuQuery))
          .text);
}

Topology parse_topology(std::string_view text) {
  const std::regex escape("\x1b\\[[0-9;]*m");  // the head is underlined
  std::istringstream lines(std::regex_replace(std::string(text), escape, ""));
  Topology table;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> row{std::istream_iterator<std::string>(words), {}};
    const bool is_head = row.size() > 1 && is_gpu_name(row[1]);
    if (row.size() > 1 && is_gpu_name(row[0]) && !is_head) {
      row.erase(row.begin());
      table.push_back(std::move(row));
    }
  }
  std::erase_if(table, [&, rows = table.size()](const auto& row) { return row.size() < rows; });
  return table;
}

std::vector<Finding> judge_gpus(const std::vector<Gpu>& gpus, std::string_view toolkit) {
  const Gpu& first = gpus.front();
  const auto other =
      std::ranges::find_if(gpus, [&](const Gpu& gpu) { return gpu.name != first.name; });
  std::vector<Finding> findings{
      other == gpus.end()
          ? Finding{"GPUs", Health::kGood,
                    fmt::format("{} x {}, {:.0f} GiB", gpus.size(), first.name, first.memory_gib)}
          : Finding{"GPUs", Health::kNote,
                    fmt::format(
                        "{} and {} compute other bits: a job on both is refused; name those "
                        "of one kind in CUDA_VISIBLE_DEVICES",
                        first.name, other->name)},
      judge_driver(first, toolkit)};
  std::ranges::move(judge_memory(gpus), std::back_inserter(findings));
  return findings;
}

std::optional<Finding> judge_gpu_links(const Topology& links, const Topology& peers) {
  const std::string item = "GPU links";
  const std::vector<GpuPair> pairs = pairs_of(links);
  if (pairs.empty()) {
    return std::nullopt;
  }
  const std::string kinds = fmt::format("{}", fmt::join(kinds_of(pairs), ", "));
  for (const GpuPair& peer : pairs_of(peers)) {
    if (peer.what != "OK") {
      return Finding{
          item, Health::kNote,
          fmt::format("GPU {} and GPU {} cannot reach each other's memory ({}), so that exchanges "
                      "go through the host's: turn off ACS and IOMMU in the BIOS, or in a virtual "
                      "machine ask for GPUs with peer access",
                      peer.first, peer.second, peer.what)};
    }
  }
  const auto slow =
      std::ranges::find_if(pairs, [](const GpuPair& pair) { return !is_nvlink(pair.what); });
  if (slow == pairs.end()) {
    return Finding{item, Health::kGood, fmt::format("NVLink between all ({})", kinds)};
  }
  if (std::ranges::any_of(pairs, [](const GpuPair& pair) { return is_nvlink(pair.what); })) {
    return Finding{
        item, Health::kNote,
        fmt::format(
            "NVLink between some alone ({}): GPU {} and GPU {} have {}, and all wait for the "
            "slowest; where fewer workers will do, name their GPUs in CUDA_VISIBLE_DEVICES",
            kinds, slow->first, slow->second, slow->what)};
  }
  return Finding{item, Health::kGood, fmt::format("no NVLink; over PCIe ({})", kinds)};
}

Finding judge_nccl(std::size_t gpus, double gigabytes_per_second, bool has_nvlink) {
  const std::string figure =
      fmt::format("all-reduce on {} GPUs: {:.1f} GB/s", gpus, gigabytes_per_second);
  if (has_nvlink && gigabytes_per_second < kLeastOverNvlink) {
    return {"NCCL", Health::kNote,
            figure +
                ", far less than NVLink carries: unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, "
                "start the fabric manager (systemctl start nvidia-fabricmanager), see "
                "NCCL_DEBUG=INFO"};
  }
  return {"NCCL", Health::kGood, figure};
}

std::vector<Finding> examine_gpus(std::string_view toolkit, const Environment& environment) {
  const std::vector<Gpu> gpus = read_gpus();
  if (gpus.empty()) {
    return num_gpus() == 0
               ? std::vector<Finding>{}
               : std::vector<Finding>{
                     {"GPUs", Health::kNote,
                      fmt::format("the driver has {}, but nvidia-smi tells of none: put it on the "
                                  "PATH; in a container set "
                                  "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                                  num_gpus())}};
  }
  std::vector<Finding> findings = judge_gpus(gpus, toolkit);
  if (gpus.size() < 2) {
    return findings;
  }
  const Topology links = parse_topology(output_of("timeout 20 nvidia-smi topo -m").text);
  if (const auto found = judge_gpu_links(
          links, parse_topology(output_of("timeout 20 nvidia-smi topo -p2p r").text))) {
    findings.push_back(*found);
  }
  const std::vector<GpuPair> pairs = pairs_of(links);
  const bool has_nvlink = !pairs.empty() && std::ranges::all_of(pairs, [](const GpuPair& pair) {
    return is_nvlink(pair.what);
  });
  if (!toolkit.empty() && is_healthy(findings)) {
    findings.push_back(measured_over_nccl(gpus.size(), has_nvlink, environment));
  }
  return findings;
}

}  // namespace gangway::launch
