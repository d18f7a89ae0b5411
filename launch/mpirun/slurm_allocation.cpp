// SPDX-License-Identifier: MIT
#include "launch/mpirun/slurm_allocation.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/text/parse_number.hpp"

namespace gangway::launch {
namespace {

// Limit of one list; the largest machines have some ten thousand hosts.
constexpr int kMostHosts = 100'000;

EnvironmentError odd_value(std::string_view what, std::string_view value) {
  return EnvironmentError(fmt::format(
      "Slurm's {} is '{}', which cannot be read: name the hosts with --hostfile", what, value));
}

/// Parses a number. @throws EnvironmentError unless all of `text` is a number of at least 0.
int slurm_number(std::string_view text, std::string_view what, std::string_view whole) {
  const auto value = parse_number<int>(text);
  if (!value || *value < 0 || *value > kMostHosts) {
    throw odd_value(what, whole);
  }
  return *value;
}

/// Splits a list at commas outside brackets.
std::vector<std::string_view> split_list(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    if (at == list.size() || (list[at] == ',' && depth == 0)) {
      parts.push_back(list.substr(begin, at - begin));
      begin = at + 1;
    } else if (list[at] == '[') {
      ++depth;
    } else if (list[at] == ']') {
      --depth;
    }
  }
  return parts;
}

/// Expands one range, "008-010", to numbers as wide as its first.
std::vector<std::string> expand_range(std::string_view range, std::string_view whole) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const int begin = slurm_number(first, "list of hosts", whole);
  const int end = slurm_number(last, "list of hosts", whole);
  std::vector<std::string> numbers;
  for (int number = begin; number <= end; ++number) {
    numbers.push_back(fmt::format("{:0{}}", number, first.size()));
  }
  return numbers;
}

/// Expands one name with any number of brackets.
std::vector<std::string> expand_name(std::string_view name, std::string_view whole) {
  const std::size_t open = name.find('[');
  if (open == std::string_view::npos) {
    return {std::string(name)};
  }
  const std::size_t close = name.find(']', open);
  if (close == std::string_view::npos) {
    throw odd_value("list of hosts", whole);
  }
  const std::vector<std::string> rests = expand_name(name.substr(close + 1), whole);
  std::vector<std::string> names;
  for (const std::string_view range : split_list(name.substr(open + 1, close - open - 1))) {
    for (const std::string& number : expand_range(range, whole)) {
      for (const std::string& rest : rests) {
        names.push_back(fmt::format("{}{}{}", name.substr(0, open), number, rest));
      }
    }
  }
  return names;
}

/// Parses "h100:8" or "8".
int gpus_in(const std::string& value) {
  const std::size_t colon = value.rfind(':');
  return slurm_number(std::string_view(value).substr(colon == std::string::npos ? 0 : colon + 1),
                      "number of GPUs", value);
}

/// Returns the places of each host, and what they count.
std::pair<std::vector<int>, std::string_view> places(const Environment& environment,
                                                     DeviceKind device, std::size_t hosts) {
  const auto tasks = find_variable(environment, "SLURM_TASKS_PER_NODE");
  if (tasks && find_variable(environment, "SLURM_NTASKS")) {
    std::vector<int> counts = expand_counts(*tasks);
    if (!counts.empty() && (counts.size() > 1 || counts.front() > 1)) {
      --counts.front();  // the coordinator's place, on the host of this command
    }
    return {counts, "tasks"};
  }
  // --gres=gpu:8 sets only the second variable, for this host; all hosts are alike.
  for (const char* name : {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}) {
    const auto gpus = find_variable(environment, name);
    if (gpus && device == DeviceKind::kCuda) {
      return {std::vector<int>(hosts, gpus_in(*gpus)), "GPUs"};
    }
  }
  const auto cores = find_variable(environment, "SLURM_JOB_CPUS_PER_NODE");
  return {expand_counts(cores.value_or("")), "cores"};
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list) {
  std::vector<std::string> hosts;
  for (const std::string_view part : split_list(list)) {
    for (std::string& host : expand_name(part, list)) {
      if (host.empty() || hosts.size() >= kMostHosts) {
        throw odd_value("list of hosts", list);
      }
      hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

std::vector<int> expand_counts(std::string_view counts) {
  constexpr std::string_view kWhat = "number of tasks or cores of each host";
  std::vector<int> numbers;
  for (const std::string_view part : split_list(counts)) {
    const std::size_t open = part.find("(x");
    int times = 1;
    if (open != std::string_view::npos) {
      if (part.back() != ')') {
        throw odd_value(kWhat, counts);
      }
      times = slurm_number(part.substr(open + 2, part.size() - open - 3), kWhat, counts);
    }
    const int number = slurm_number(part.substr(0, open), kWhat, counts);
    numbers.insert(numbers.end(), static_cast<std::size_t>(times), number);
  }
  return numbers;
}

std::optional<SlurmAllocation> find_slurm_allocation(const Environment& environment,
                                                     DeviceKind device) {
  const auto job = find_variable(environment, "SLURM_JOB_ID");
  const auto nodes = find_variable(environment, "SLURM_JOB_NODELIST");
  if (!job || !nodes) {
    return std::nullopt;
  }
  const auto step = find_variable(environment, "SLURM_STEP_NUM_TASKS");
  if (step && *step != "1") {
    throw EnvironmentError(fmt::format(
        "srun has started {} of 'gangway run', which starts all ranks itself: call it once, in the "
        "script of sbatch or under salloc, or use 'srun --mpi=pmix gangway train'",
        *step));
  }
  SlurmAllocation allocation{.job = *job, .nodes = *nodes, .hosts = {}, .counted = {}};
  const std::vector<std::string> names = expand_host_list(*nodes);
  const auto [slots, counted] = places(environment, device, names.size());
  if (slots.size() != names.size()) {
    throw EnvironmentError(
        fmt::format("Slurm names {} hosts ({}) and {} of {} for each: name the hosts with "
                    "--hostfile",
                    names.size(), *nodes, slots.size(), counted));
  }
  for (std::size_t index = 0; index < names.size(); ++index) {
    allocation.hosts.push_back({.name = names[index], .slots = slots[index]});
  }
  allocation.counted = counted;
  return allocation;
}

std::string describe(const SlurmAllocation& allocation, int workers) {
  const int slots = count_slots(allocation.hosts);
  return fmt::format(
      "slurm  job {} on {}: {} slot{} by its {}; one coordinator and {} worker{} (-n and "
      "--hostfile say otherwise)",
      allocation.job, allocation.nodes, slots, slots == 1 ? "" : "s", allocation.counted, workers,
      workers == 1 ? "" : "s");
}

}  // namespace gangway::launch
