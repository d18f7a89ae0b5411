// SPDX-License-Identifier: MIT
#include "report/tick.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "run/messages/step_parts.hpp"

namespace gangway::report {

std::string format_duration(double seconds) {
  const auto total =
      static_cast<std::int64_t>(std::isfinite(seconds) && seconds > 0 ? seconds + 0.5 : 0.0);
  const std::int64_t minutes = total / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (days > 0) {
    return fmt::format("{}d {:02}h {:02}m", days, hours % 24, minutes % 60);
  }
  if (hours > 0) {
    return fmt::format("{}h {:02}m {:02}s", hours, minutes % 60, total % 60);
  }
  return minutes > 0 ? fmt::format("{}m {:02}s", minutes, total % 60) : fmt::format("{}s", total);
}

double WorkerParts::step_seconds() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

const WorkerParts* Tick::slowest() const {
  const auto least = std::ranges::min_element(parts, {}, &WorkerParts::waits_seconds);
  return least == parts.end() ? nullptr : &*least;
}

namespace {

/// Maximum number of workers with their own rows, because the record grows with each tick.
constexpr std::size_t kMostRows = 16;

/// Returns "D" for discriminator, "DR" for discriminator_regulariser.
std::string initials(const std::string& name) {
  std::string letters;
  bool is_first = true;
  for (const char letter : name) {
    if (is_first) {
      letters += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    is_first = letter == '_';
  }
  return letters;
}

/// Returns a network's initials; its name if two networks share them.
std::string short_name(const Tick& tick, const std::string& network) {
  std::set<std::string> seen;
  for (const NetworkLoss& loss : tick.losses) {
    seen.insert(initials(loss.network));
  }
  return seen.size() == tick.losses.size() ? initials(network) : network;
}

/// Returns "loss_g 1.214   loss_d 0.873   ".
std::string losses(const Tick& tick) {
  std::string text;
  for (const NetworkLoss& loss : tick.losses) {
    std::string name = short_name(tick, loss.network);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char letter) { return std::tolower(letter); });
    text += fmt::format("loss_{} {:<7.3f} ", name, loss.loss);
  }
  return text;
}

/// Returns "alloc 0.41 of 0.55 GiB ", followed by warning signs.
std::string allocator(const TickMemory& memory) {
  if (memory.reserved_gib <= 0.0) {
    return {};
  }
  return fmt::format("alloc {:.2f} of {:.2f} GiB {}", memory.allocated_gib, memory.reserved_gib,
                     memory.retries > 0 ? fmt::format("retries {} ", memory.retries) : "");
}

std::string communication(const Tick& tick) {
  std::string text = fmt::format("comm {:.1f}%", tick.exposed_percent);
  std::string separator = " (";
  for (const ExposedPhase& phase : tick.exposed) {
    text += fmt::format("{}{} {:.1f}{}", separator, initials(phase.phase), phase.percent,
                        phase.agrees ? " agree" : "");
    separator = ", ";
  }
  text += tick.exposed.empty() ? "" : ")";
  if (tick.sent_mib_per_step > 0.0) {
    text += fmt::format(" sent {:.1f} MiB/step", tick.sent_mib_per_step);
  }
  if (constexpr double kWorthSaying = 0.05; tick.check_percent >= kWorthSaying) {
    text += fmt::format(" check {:.1f}%", tick.check_percent);
  }
  if (tick.snapshots > 0) {
    text += fmt::format(" snap {:.2g}%", tick.snapshot_percent);
  }
  return text;
}

nlohmann::ordered_json as_json(const auto& number) { return number; }

nlohmann::ordered_json as_json(const std::vector<ExposedPhase>& phases) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const ExposedPhase& phase : phases) {
    object[phase.phase] = {{"seconds", phase.seconds_per_step},
                           {"by_bucket", phase.by_bucket},
                           {"agree", phase.agrees}};
  }
  return object;
}

nlohmann::ordered_json as_json(const std::vector<SavedCheckpoint>& checkpoints) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const SavedCheckpoint& saved : checkpoints) {
    list.push_back({{"step", saved.step}, {"seconds", saved.seconds}, {"mib", saved.mib}});
  }
  return list;
}

/// Adds "generator_lr", "generator_gradient_norm", …
void add_updates(const Tick& tick, nlohmann::ordered_json& object) {
  for (const NetworkUpdate& update : tick.updates) {
    object[update.network + "_updates"] = update.count;
    object[update.network + "_lr"] = update.lr;
    if (update.was_skipped) {
      object[update.network + "_update_skipped"] = true;
    }
    if (update.norms) {
      object[update.network + "_gradient_norm"] = update.norms->gradient;
      object[update.network + "_weight_norm"] = update.norms->weights;
      object[update.network + "_update_ratio"] = update.norms->update_ratio;
    }
  }
}

double microseconds_kept(double seconds) { return std::round(seconds * 1e6) / 1e6; }

/// Returns {"data": [seconds per step, by worker]} for parts that any worker has.
nlohmann::ordered_json parts_by_rank(const Tick& tick) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::object();
  for (std::size_t part = 0; part < tick.part_names.size(); ++part) {
    const auto of = [part](const WorkerParts& worker) { return worker.seconds[part]; };
    if (std::ranges::any_of(tick.parts, [&](const auto& worker) { return of(worker) != 0.0; })) {
      auto& row = rows[tick.part_names[part]] = nlohmann::ordered_json::array();
      for (const WorkerParts& worker : tick.parts) {
        row.push_back(microseconds_kept(of(worker)));
      }
    }
  }
  return rows;
}

/// Returns {"data": seconds per step} for the nonzero parts.
nlohmann::ordered_json parts_by_name(const Tick& tick, const std::vector<double>& seconds) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::object();
  for (std::size_t part = 0; part < tick.part_names.size(); ++part) {
    if (seconds[part] != 0.0) {
      parts[tick.part_names[part]] = seconds[part];
    }
  }
  return parts;
}

/// Returns {"peak_gib": [by worker]} and the other memory figures.
nlohmann::ordered_json memory_by_rank(const Tick& tick) {
  using Figures = messages::MemoryFigures;
  nlohmann::ordered_json rows = nlohmann::ordered_json::object();
  const auto add = [&](const char* name, std::uint64_t Figures::*bytes) {
    for (const WorkerParts& worker : tick.parts) {
      rows[name].push_back(static_cast<double>(worker.memory.*bytes) / kGibibyte);
    }
  };
  add("resident_gib", &Figures::resident_bytes);
  add("allocated_gib", &Figures::allocated_bytes);
  add("reserved_gib", &Figures::reserved_bytes);
  add("peak_gib", &Figures::peak_bytes);
  return rows;
}

/// Adds seconds per step: of the slowest worker and, up to kMostRows workers, of each.
void add_parts(const Tick& tick, nlohmann::ordered_json& object) {
  const WorkerParts* const slowest = tick.slowest();
  if (slowest == nullptr) {
    return;
  }
  object["parts"] = parts_by_name(tick, slowest->seconds);
  object["parts_rank"] = slowest->rank;
  if (tick.parts.size() > 1 && tick.parts.size() <= kMostRows) {
    object["parts_by_rank"] = parts_by_rank(tick);
    object["memory_by_rank"] = memory_by_rank(tick);
  }
  if (!slowest->device_seconds.empty()) {
    object["device_parts"] = parts_by_name(tick, slowest->device_seconds);
    object["device_starved_percent"] = 100.0 * slowest->device_starved_share;
  }
  for (std::size_t figure = 0; figure < slowest->loader.size(); ++figure) {
    object["loader"][messages::kLoaderFigureNames.at(figure)] = slowest->loader[figure];
  }
  object["core_percent"] = 100.0 * slowest->core_share;
  object["other_cores"] = slowest->other_cores;
  object["preemptions_per_step"] = slowest->preemptions_per_step;
  object["major_faults_per_step"] = slowest->major_faults_per_step;
}

/// Returns " step D 41% G 38% workers 12%": the largest parts of the slowest worker's step, summed
/// by network. Uses the device's parts if the device lags behind the host.
std::string largest_parts(const Tick& tick) {
  const WorkerParts* const slowest = tick.slowest();
  if (slowest == nullptr) {
    return {};
  }
  const bool has_device = !slowest->device_seconds.empty();
  const std::vector<double>& seconds = has_device ? slowest->device_seconds : slowest->seconds;
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  if (all <= 0.0) {
    return {};
  }
  std::vector<std::pair<std::string, double>> sums;
  for (std::size_t part = 0; part < tick.part_names.size(); ++part) {
    const std::string& name = tick.part_names[part];
    const auto network = std::ranges::find_if(
        tick.losses, [&](const NetworkLoss& loss) { return name.starts_with(loss.network + "_"); });
    const std::string shown =
        network == tick.losses.end() ? name : short_name(tick, network->network);
    auto sum = std::ranges::find(sums, shown, &std::pair<std::string, double>::first);
    if (sum == sums.end()) {
      sum = sums.insert(sums.end(), {shown, 0.0});
    }
    sum->second += seconds[part] / all;
  }
  std::ranges::stable_sort(sums, std::greater(), &std::pair<std::string, double>::second);
  std::string text = has_device ? " device" : " step";
  for (const auto& [name, share] : std::span(sums).first(std::min<std::size_t>(3, sums.size()))) {
    text += fmt::format(" {} {:.0f}%", name, 100.0 * share);
  }
  return text;
}

}  // namespace

std::string tick_line(const Tick& tick) {
  return fmt::format(
      "tick {:<5} kimg {:<8.1f} time {:<11} sec/kimg {:<7} img/s {:<8.1f} {}mem {:<8} {}{}{}",
      tick.index, tick.kimg, format_duration(tick.seconds_total),
      fmt::format("{:.2f}", tick.seconds_per_kimg), tick.images_per_second, losses(tick),
      fmt::format("{:.2f} GiB", tick.memory.resident_gib), allocator(tick.memory),
      communication(tick), largest_parts(tick));
}

std::string tick_json(const Tick& tick) {
  nlohmann::ordered_json object;
  tick.for_each([&object](const char* key, const auto& value) { object[key] = as_json(value); });
  if (tick.slow_gpu) {
    object["slow_gpu_rank"] = tick.slow_gpu->rank;
    object["slow_gpu_clock_percent"] = tick.slow_gpu->clock_percent;
    object["slow_gpu_slowed_by"] = tick.slow_gpu->slowed_by;
  }
  if (tick.memory.limit_gib > 0.0) {
    object["memory_used_gib"] = tick.memory.used_gib;
    object["memory_limit_gib"] = tick.memory.limit_gib;
    object["memory_limit"] = tick.memory.limit;
  }
  for (const NetworkLoss& loss : tick.losses) {
    object[loss.network + "_loss"] = loss.loss;
  }
  add_parts(tick, object);
  add_updates(tick, object);
  for (const TickFigure& figure : tick.figures) {
    object[figure.name] = figure.value;
  }
  return object.dump();
}

void note_gpu(Tick& tick, Rank rank, const std::optional<messages::DeviceGauges>& gauges) {
  using messages::SlowedBy;
  const std::uint64_t by = gauges ? gauges->slowed_by.value_or(0) : 0;
  const double percent = by == 0 ? 100.0 : 100.0 * gauges->clock.value_or(1.0);
  if (by == 0 || (tick.slow_gpu && tick.slow_gpu->clock_percent <= percent)) {
    return;
  }
  Tick::SlowGpu slow{.rank = rank, .clock_percent = percent, .slowed_by = "hardware"};
  if (by == (SlowedBy::kPower | SlowedBy::kHeat)) {
    slow.slowed_by = "power and heat";
  } else if (by != SlowedBy::kHardware) {
    slow.slowed_by = by == SlowedBy::kPower ? "power" : "heat";
  }
  tick.slow_gpu = std::move(slow);
}

}  // namespace gangway::report
