// SPDX-License-Identifier: MIT
#include "plan/ranking/plan_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text/shell_word.hpp"
#include "base/units.hpp"
#include "job/choices.hpp"
#include "plan/predict.hpp"
#include "report/table.hpp"

namespace gangway::plan {
namespace {

using report::Table;

constexpr double kMilliseconds = 1e3;

/// Returns `seconds` as a share of the step.
double share_of_step(double seconds, const Prediction& prediction) {
  const double all = prediction.parts.total();
  return all > 0.0 ? seconds / all : 0.0;
}

/// Sets negative shares to 0: rounding makes differences of sums negative.
std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100.0 * std::max(0.0, share));
}

std::string memory_text(const Prediction& one) {
  const double mebibytes = static_cast<double>(one.memory.total_bytes()) / kMebibyte;
  return fmt::format("{:.0f} MiB{}", mebibytes, one.fits ? "" : " !");
}

/// Returns the nodes without measured times.
std::vector<const ClusterNode*> guessed_nodes(const Cluster& cluster) {
  std::vector<const ClusterNode*> guessed;
  for (const ClusterNode& node : cluster.nodes) {
    if (node.is_guessed) {
      guessed.push_back(&node);
    }
  }
  return guessed;
}

/// Explains the word "guess" in the table; empty if all times are measured.
std::string guess_text(const PlanInput& input) {
  const std::vector<const ClusterNode*> nodes = guessed_nodes(input.cluster);
  if (nodes.empty()) {
    return "";
  }
  const auto launches = std::ranges::max_element(
      nodes, {}, [](const ClusterNode* node) { return node->launch_seconds; });
  constexpr double kMicroseconds = 1e6;
  const double launch = (*launches)->launch_seconds * kMicroseconds;
  return fmt::format(
      "guess: costs of {} ({}), divided by the speed that {} gives for {}{}; this job has no "
      "measurement there.{}\n",
      input.profile.host, input.profile.processor, input.cluster.name,
      nodes.size() == 1 ? nodes.front()->name
                        : fmt::format("{} and {} more", nodes.front()->name, nodes.size() - 1),
      launch > 0.0 ? fmt::format(", and {:g} us a kernel at least", launch) : "",
      launch > 0.0 && input.job.numerics.device == DeviceKind::kCpu
          ? " Where these are GPUs, run it with numerics.device=cuda."
          : "");
}

/// Explains devices that are idle for lack of micro-batches; empty if none are.
std::string idle_text(const Prediction& best, const PlanInput& input) {
  const int microbatches = input.job.training.microbatches;
  const int devices = input.cluster.num_devices();
  if (microbatches >= devices || best.candidate.workers >= devices) {
    return "";
  }
  return fmt::format(
      "{} of {} devices are idle: the job has {} micro-batch{}. Workers share a micro-batch only "
      "with stages or networks on separate workers. More micro-batches (training.microbatches, "
      "which has to divide training.batch) make another job, with other numbers.\n",
      devices - best.candidate.workers, devices, microbatches, microbatches == 1 ? "" : "es");
}

std::string ranking_table(const Search& search, bool is_priced, bool is_guessed) {
  const std::string guess = is_guessed ? ", guess" : "";
  std::vector<report::Column> columns{{"layout"},
                                      {"step ms" + guess, Align::kRight},
                                      {"images/s" + guess, Align::kRight},
                                      {"efficiency", Align::kRight},
                                      {"waits", Align::kRight},
                                      {"wire", Align::kRight},
                                      {"bubble", Align::kRight},
                                      {"memory a worker", Align::kRight},
                                      {"behind the first by"}};
  if (is_priced) {
    columns.insert(columns.end() - 1, {"a kimg", Align::kRight});
  }
  Table table(columns);
  for (const Prediction& one : search.ranking) {
    const bool is_first = &one == &search.ranking.front();
    std::vector<std::string> cells{
        describe(one.candidate),
        fmt::format("{:.3f}", one.step_seconds * kMilliseconds),
        fmt::format("{:.0f}", one.images_per_second),
        percent_text(one.efficiency),
        percent_text(share_of_step(one.parts.total() - one.parts.compute - one.parts.beside, one)),
        percent_text(share_of_step(one.parts.wire, one)),
        percent_text(share_of_step(one.parts.bubble, one)),
        memory_text(one),
        is_first ? "-" : why_behind(one, search.ranking.front())};
    if (is_priced) {
      cells.insert(cells.end() - 1, fmt::format("{:.4g}", one.price_per_kimg));
    }
    table.add_row(std::move(cells));
  }
  return table.text();
}

std::string first_text(const Prediction& best) {
  std::vector<std::string> parts;
  for (const auto& [name, part] : kStepParts) {
    constexpr double kShown = 0.0005;
    if (const double share = share_of_step(best.parts.*part, best); share >= kShown) {
      parts.push_back(fmt::format("{} {}", name, percent_text(share)));
    }
  }
  const WorkerMemory& memory = best.memory;
  const auto mebibytes = [](std::int64_t bytes) { return static_cast<double>(bytes) / kMebibyte; };
  return fmt::format(
      "A step of the first: {}; {:.1f} MiB between hosts.\n"
      "Its memory: {:.0f} MiB process, {:.0f} arenas, {:.0f} snapshots, {:.0f} compute, {:.0f} "
      "other.\n",
      fmt::join(parts, ", "), mebibytes(best.bytes_between_hosts), mebibytes(memory.process_bytes),
      mebibytes(memory.arenas_bytes), mebibytes(memory.snapshots_bytes),
      mebibytes(memory.working_bytes), mebibytes(memory.other_bytes));
}

/// Explains why the layout recomputes forwards; empty if it does not.
std::string recompute_text(const Prediction& best) {
  if (!best.candidate.choice.recompute) {
    return "";
  }
  return fmt::format(
      "layout.recompute, which repeats forwards: a worker without it would need {:.0f} MiB, and a "
      "device has {:.0f}.\n",
      static_cast<double>(best.kept_memory_bytes) / kMebibyte,
      static_cast<double>(best.memory_limit) / kMebibyte);
}

/// Says that stages need more memory than a worker with whole networks; empty if they do not.
std::string stages_memory_text(const Prediction& best, const PlanInput& input) {
  if (!best.candidate.has_stages()) {
    return "";
  }
  const std::int64_t whole = predict(input, whole_candidate(input.job, 1)).memory.total_bytes();
  const std::int64_t staged = best.memory.total_bytes();
  if (staged <= whole) {
    return "";
  }
  return fmt::format(
      "Stages keep the activations of several micro-batches: {:.0f} MiB a worker, where a worker "
      "with whole networks has {:.0f}; a lower layout.in_flight keeps fewer, and waits more.\n",
      static_cast<double>(staged) / kMebibyte, static_cast<double>(whole) / kMebibyte);
}

/// Returns the hostfile for the command if there are several hosts, fastest first.
std::string hostfile_text(const std::vector<HostSlots>& hosts) {
  constexpr std::size_t kMostNames = 8;
  std::vector<std::string> lines;
  for (const HostSlots& host : hosts) {
    lines.push_back(fmt::format("{} slots={}", host.name, host.slots));
  }
  const std::size_t more = lines.size() - std::min(lines.size(), kMostNames);
  lines.resize(lines.size() - more);
  return fmt::format("Write a file hosts, one line per host in this order: {}{}\n",
                     fmt::join(lines, ", "), more == 0 ? "" : fmt::format(", and {} more", more));
}

/// Returns the command that runs the layout.
std::string command_text(const Candidate& candidate, const PlanInput& input,
                         const TypedJob& typed) {
  const std::vector<HostSlots> hosts = hosts_of(candidate, input.cluster);
  std::vector<std::string> words{typed.program, "run", typed.file, "-n",
                                 std::to_string(candidate.workers)};
  if (hosts.size() > 1) {
    words.insert(words.end(), {"--hostfile", "hosts"});
  }
  words.insert(words.end(), typed.overrides.begin(), typed.overrides.end());
  for (std::string& key : layout_keys(runnable(candidate, input.job, input.cluster), input.job)) {
    words.push_back(std::move(key));
  }
  std::ranges::transform(words, words.begin(), shell_word);
  return fmt::format("{}Run it: {}\n", hosts.size() > 1 ? hostfile_text(hosts) : "",
                     fmt::join(words, " "));
}

nlohmann::json json_of(const Prediction& one, const PlanInput& input) {
  const Candidate candidate = runnable(one.candidate, input.job, input.cluster);
  nlohmann::json hosts = nlohmann::json::array();
  for (const HostSlots& host : hosts_of(candidate, input.cluster)) {
    hosts.push_back({{"name", host.name}, {"slots", host.slots}});
  }
  nlohmann::json parts;
  for (const auto& [name, part] : kStepParts) {
    parts[name] = one.parts.*part;
  }
  return {{"workers", one.candidate.workers},
          {"overlap", name_of(one.candidate.choice.overlap)},
          {"transport", name_of(candidate.choice.transport)},
          {"layout", describe(one.candidate)},
          {"recompute", one.candidate.choice.recompute},
          {"arguments", run_arguments(candidate, input.job)},
          {"hosts", hosts},
          {"step_seconds", one.step_seconds},
          {"images_per_second", one.images_per_second},
          {"efficiency", one.efficiency},
          {"parts_seconds", parts},
          {"bytes_between_hosts", one.bytes_between_hosts},
          {"memory_bytes", one.memory.total_bytes()},
          {"fits", one.fits},
          {"price_per_kimg", one.price_per_kimg}};
}

}  // namespace

std::string plan_text(const Search& search, const PlanInput& input, const TypedJob& typed) {
  const Prediction& best = search.ranking.front();
  const bool is_priced = std::ranges::any_of(
      search.ranking, [](const Prediction& one) { return one.price_per_kimg > 0.0; });
  std::string text = fmt::format(
      "{} on {}: {} devices, {} micro-batches of {} images; {} layouts simulated, {} skipped as "
      "slower by compute alone{}\n\n{}\n",
      typed.file, input.cluster.name, input.cluster.num_devices(), input.job.training.microbatches,
      input.job.images_per_microbatch(), search.simulated, search.pruned,
      search.left_out == 0 ? "" : fmt::format(", {} not examined", search.left_out),
      ranking_table(search, is_priced, !guessed_nodes(input.cluster).empty()));
  text += guess_text(input);
  text += idle_text(best, input);
  text += first_text(best);
  text += best.fits ? recompute_text(best) + stages_memory_text(best, input) : "";
  if (!best.fits) {
    text += "No layout fits: fewer images a micro-batch (more micro-batches), or larger devices.\n";
  }
  return best.fits ? text + command_text(best.candidate, input, typed) : text;
}

std::string plan_json(const Search& search, const PlanInput& input, const TypedJob& typed) {
  nlohmann::json ranking = nlohmann::json::array();
  for (const Prediction& one : search.ranking) {
    ranking.push_back(json_of(one, input));
  }
  const nlohmann::json all = {{"job", typed.file},
                              {"cluster", input.cluster.name},
                              {"devices", input.cluster.num_devices()},
                              {"guess", !guessed_nodes(input.cluster).empty()},
                              {"simulated", search.simulated},
                              {"pruned", search.pruned},
                              {"left_out", search.left_out},
                              {"ranking", ranking}};
  return all.dump(2) + "\n";
}

}  // namespace gangway::plan
