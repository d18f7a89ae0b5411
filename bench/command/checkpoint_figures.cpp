// SPDX-License-Identifier: MIT
#include "bench/command/checkpoint_figures.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "base/units.hpp"
#include "report/table.hpp"

namespace gangway::bench {
namespace {

struct StepTick {
  std::int64_t step = 0;
  double seconds = 0.0;
  double waited = 0.0;
  std::int64_t snapshots = 0;
  double held = 0.0;
  double copied = 0.0;
  std::vector<SaveFigures> saves;
};

double number(const nlohmann::json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) {
    throw EnvironmentError(
        fmt::format("stats.jsonl: a line without {}: are all programs of one build?", key));
  }
  return object[key].get<double>();
}

StepTick tick_of(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  StepTick tick{.step = static_cast<std::int64_t>(number(json, "step")),
                .seconds = number(json, "seconds_tick")};
  tick.waited = tick.seconds * number(json, "exposed_percent") / 100.0;
  tick.snapshots = static_cast<std::int64_t>(number(json, "snapshots"));
  tick.held = number(json, "snapshot_wait_seconds");
  tick.copied = number(json, "snapshot_seconds");
  if (json.contains("checkpoints")) {
    for (const auto& saved : json["checkpoints"]) {
      tick.saves.push_back(
          {.seconds = number(saved, "seconds"), .bytes = number(saved, "mib") * kMebibyte});
    }
  }
  return tick;
}

std::vector<StepTick> ticks_of(std::string_view stats) {
  std::vector<StepTick> ticks;
  while (!stats.empty()) {
    const std::size_t end = std::min(stats.find('\n'), stats.size());
    ticks.push_back(tick_of(stats.substr(0, end)));
    stats.remove_prefix(std::min(end + 1, stats.size()));
  }
  return ticks;
}

double median(const std::vector<double>& values) { return percentile(values, 50.0); }

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// The usual step, those around snapshots left out.
StepTick usual_step(std::span<const StepTick> ticks) {
  std::vector<double> seconds;
  std::vector<double> waited;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    if (ticks[i].snapshots == 0 && (i + 1 == ticks.size() || ticks[i + 1].snapshots == 0)) {
      seconds.push_back(ticks[i].seconds);
      waited.push_back(ticks[i].waited);
    }
  }
  if (seconds.empty()) {
    throw EnvironmentError("the runs are too short to measure: use more --every or --checkpoints");
  }
  return {.seconds = median(seconds), .waited = median(waited)};
}

template <typename Round>
std::vector<double> all(const std::vector<Round>& rounds, double Round::*member) {
  std::vector<double> values;
  for (const Round& round : rounds) {
    values.push_back(round.*member);
  }
  return values;
}

std::vector<double> all(const std::vector<CheckpointRun>& runs,
                        std::vector<double> Stalls::*which) {
  std::vector<double> values;
  for (const CheckpointRun& run : runs) {
    const std::vector<double>& more = run.stalls.*which;
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

std::string milliseconds(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

/// @param wall  seconds of the training that the stalls are a part of; 0: of none
std::vector<std::string> stall_row(const std::string& name, const std::vector<double>& stalls,
                                   double wall) {
  if (stalls.empty()) {
    return {name, "0", "-", "-", "-", "-"};
  }
  return {name,
          std::to_string(stalls.size()),
          milliseconds(percentile(stalls, 50.0)),
          milliseconds(percentile(stalls, 99.0)),
          milliseconds(percentile(stalls, 100.0)),
          wall > 0.0 ? fmt::format("{:.3f} %", 100.0 * sum(stalls) / wall) : "-"};
}

std::string spread(std::vector<double> values, const char* unit) {
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.0f}{} ({:.0f}-{:.0f})", median(values), unit, least, most);
}

std::vector<double> rates(double bytes, const std::vector<double>& seconds) {
  std::vector<double> values;
  for (const double each : seconds) {
    values.push_back(bytes / kMegabyte / each);
  }
  return values;
}

/// Percent of the limit that was reached, turn by turn.
std::vector<double> shares(const std::vector<double>& limit, const std::vector<double>& reached) {
  std::vector<double> values;
  for (std::size_t i = 0; i < limit.size(); ++i) {
    values.push_back(100.0 * limit[i] / reached[i]);
  }
  return values;
}

}  // namespace

double percentile(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double rank = std::ceil(p / 100.0 * static_cast<double>(values.size()));
  return values.at(static_cast<std::size_t>(std::max(rank, 1.0)) - 1);
}

CheckpointRun checkpoint_run(std::string_view stats, std::int64_t warmup_steps) {
  const std::vector<StepTick> all_ticks = ticks_of(stats);
  const auto first = std::ranges::find_if(
      all_ticks, [&](const StepTick& tick) { return tick.step > warmup_steps; });
  const std::span<const StepTick> ticks(first, all_ticks.end());
  const StepTick usual = usual_step(ticks);
  CheckpointRun run{.steps = static_cast<std::int64_t>(ticks.size()),
                    .step_seconds = usual.seconds};
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const StepTick& tick = ticks[i];
    run.seconds += tick.seconds;
    run.saves.insert(run.saves.end(), tick.saves.begin(), tick.saves.end());
    if (tick.snapshots == 0 || i == 0) {
      continue;
    }
    const StepTick& before = ticks[i - 1];
    run.stalls.held.push_back(tick.held);
    run.stalls.copied.push_back(tick.copied);
    run.stalls.waited.push_back(std::max(0.0, before.waited + tick.waited - 2.0 * usual.waited));
    run.stalls.longer.push_back(std::max(0.0, before.seconds + tick.seconds - 2.0 * usual.seconds));
  }
  return run;
}

std::string stall_table(const CheckpointRounds& rounds) {
  report::Table table({{"stall of a checkpoint"},
                       {"n", Align::kRight},
                       {"p50 ms", Align::kRight},
                       {"p99 ms", Align::kRight},
                       {"max ms", Align::kRight},
                       {"of the time", Align::kRight}});
  const double wall = sum(all(rounds.with, &CheckpointRun::seconds));
  table.add_row(stall_row("updates waited for the copy", all(rounds.with, &Stalls::held), wall));
  table.add_row(stall_row("compute waited more", all(rounds.with, &Stalls::waited), wall));
  table.add_row(stall_row("steps took longer", all(rounds.with, &Stalls::longer), wall));
  table.add_row(stall_row("lane copied, beside", all(rounds.with, &Stalls::copied), wall));
  table.add_row(stall_row("memcpy, no training", all(rounds.copies, &CopyTimes::plain), 0.0));
  table.add_row(
      stall_row("copy and hash, no training", all(rounds.copies, &CopyTimes::snapshot), 0.0));
  for (const RivalRow& rival : rounds.rivals) {
    table.add_row(stall_row(rival.name, rival.stalls, 0.0));
  }
  return table.text();
}

std::string speed_line(const CheckpointRounds& rounds) {
  std::vector<double> with;
  std::vector<double> without;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds.with.size(); ++i) {
    with.push_back(static_cast<double>(rounds.with[i].steps) / rounds.with[i].seconds);
    without.push_back(static_cast<double>(rounds.without[i].steps) / rounds.without[i].seconds);
    ratios.push_back(with.back() / without.back());
  }
  return fmt::format(
      "steps/s {:.3f} with a checkpoint every {} steps, {:.3f} without: ratio {:.4f} (minimum "
      "{:.4f}) of {} rounds",
      median(with), rounds.every_steps, median(without), median(ratios), percentile(ratios, 1.0),
      ratios.size());
}

std::string store_table(const CheckpointRounds& rounds) {
  report::Table table({{"disk"}, {"MB/s", Align::kRight}, {"of the limit", Align::kRight}});
  const double bytes = rounds.state_bytes;
  const auto row = [&](const char* name, double StoreTimes::*what, double StoreTimes::*limit) {
    const std::vector<double> seconds = all(rounds.stores, what);
    table.add_row({name, spread(rates(bytes, seconds), ""),
                   what == limit ? "-" : spread(shares(all(rounds.stores, limit), seconds), " %")});
  };
  row("plain direct writes, synced", &StoreTimes::plain_write, &StoreTimes::plain_write);
  row("save, no training", &StoreTimes::save, &StoreTimes::plain_write);
  std::vector<double> behind;
  for (const CheckpointRun& run : rounds.with) {
    for (const SaveFigures& save : run.saves) {
      behind.push_back(save.bytes / kMegabyte / save.seconds);
    }
  }
  if (!behind.empty()) {
    const double limit = median(rates(bytes, all(rounds.stores, &StoreTimes::plain_write)));
    table.add_row({"save behind the training", spread(behind, ""),
                   fmt::format("{:.0f} %", 100.0 * median(behind) / limit)});
  }
  row("plain direct reads", &StoreTimes::plain_read, &StoreTimes::plain_read);
  row("load, every chunk verified", &StoreTimes::load, &StoreTimes::plain_read);
  return table.text();
}

void add_rivals(std::string_view lines, std::vector<RivalRow>& rows) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("row") || !json["row"].is_string() ||
        !json.contains("stalls") || !json["stalls"].is_array()) {
      throw EnvironmentError(
          fmt::format("'{}' is no row of a benchmark: look at what it says when "
                      "it is started by hand",
                      line.substr(0, 200)));
    }
    const auto name = json["row"].get<std::string>();
    auto row = std::ranges::find(rows, name, &RivalRow::name);
    if (row == rows.end()) {
      row = rows.insert(rows.end(), RivalRow{.name = name});
    }
    for (const auto& stall : json["stalls"]) {
      row->stalls.push_back(stall.is_number() ? stall.get<double>() : 0.0);
    }
  }
}

}  // namespace gangway::bench
