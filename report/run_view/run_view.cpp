// SPDX-License-Identifier: MIT
#include "report/run_view/run_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "report/log_file.hpp"
#include "report/run_view/run_records.hpp"
#include "report/run_view/step_timeline.hpp"
#include "run/control/steering_file.hpp"
#include "run/decision_file.hpp"
#include "run/run_files.hpp"
#include "run/run_start.hpp"
#include "run/trace_steps.hpp"

namespace gangway::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using FileTime = std::optional<fs::file_time_type>;

constexpr int kDocumentFormat = 1;
constexpr std::size_t kRateTicks = 10;  // ticks for the estimate of the remaining time
constexpr std::size_t kCommandBytes = 65536;

FileTime time_of_change(const fs::path& path) {
  std::error_code failure;
  const auto time = fs::last_write_time(path, failure);
  return failure ? std::nullopt : std::optional(time);
}

double number_in(const std::map<std::string, std::string>& keys, const std::string& key) {
  const auto found = keys.find(key);
  return found == keys.end() ? 0.0 : std::strtod(found->second.c_str(), nullptr);
}

template <typename Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// Returns the result of `read`; an empty value if the record cannot be read or is damaged.
template <typename Read>
std::invoke_result_t<Read> or_empty(const Read& read) {
  try {
    return read();
  } catch (const Error&) {
    return {};
  }
}

/// Returns the first line without its newline; empty if there is no file.
std::string first_line(const fs::path& path) {
  std::string text = or_empty([&] { return read_small_file(path, kCommandBytes); }).value_or("");
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

ordered_json incarnation_of(const fs::path& run) {
  const auto start = or_empty([&] { return read_run_start(run); });
  return start ? ordered_json(start->incarnation) : ordered_json(nullptr);
}

ordered_json event_json(const RunEvent& event) {
  return {{"unix", or_null(event.unix_seconds)},
          {"step", or_null(event.step)},
          {"kind", event.kind},
          {"text", event.text}};
}

}  // namespace

/// Parts of the document that are rebuilt only after their files have changed.
struct RunView::Caches {
  FileTime checkpoints_of;
  ordered_json checkpoints = ordered_json::array();
  FileTime timeline_of;
  ordered_json timeline;
};

RunView::RunView(fs::path run, ViewLimits limits)
    : run_(std::move(run)),
      limits_(limits),
      stats_(run_ / "stats.jsonl"),
      log_(run_ / kLogsFolder / log_file_name(Rank(0))),
      advice_(advice_keys(run_)),
      caches_(std::make_unique<Caches>()) {}

RunView::~RunView() = default;

void RunView::read_ticks() {
  const LineTail::News news = stats_.read();
  if (news.begins_again) {
    ticks_.clear();
    rank_parts_ = nullptr;
    advice_ = AdviceTracker(advice_keys(run_));  // another start may have other keys
    damaged_lines_ = 0;
  }
  for (const std::string& line : news.lines) {
    take_tick(line);
  }
}

void RunView::take_tick(const std::string& line) {
  const json tick = json::parse(line, nullptr, false);
  if (tick.is_object() && tick.contains("scores")) {
    return;  // the log has it too
  }
  if (tick.is_object() && tick.contains("step") && tick.contains("kimg")) {
    ticks_.add(tick);
    rank_parts_ = tick.value("parts_by_rank", json(nullptr));
    (void)advice_.add(tick);
  } else {
    ++damaged_lines_;
  }
}

void RunView::read_log() {
  LineTail::News news = log_.read();
  if (news.begins_again) {
    events_.clear();
    last_lines_.clear();
    scores_.clear();
    picture_steps_.clear();
  }
  for (std::string& line : news.lines) {
    if (auto event = event_of_line(line)) {
      if (const auto score = logged_score(*event); score && event->step) {
        scores_[score->metric][*event->step] = score->value;
      }
      if (const std::string file = logged_picture(*event); !file.empty() && event->step) {
        picture_steps_[file] = *event->step;
      }
      events_.push_back(std::move(*event));
    }
    last_lines_.push_back(std::move(line));
  }
  while (events_.size() > limits_.events) {
    events_.pop_front();
  }
  while (last_lines_.size() > limits_.log_lines) {
    last_lines_.pop_front();
  }
}

ordered_json RunView::job_json(const std::map<std::string, std::string>& keys) const {
  // From the ticks; before the first tick, as most recipes count.
  const double steps = ticks_.last("step").value_or(0.0);
  const double images = steps > 0.0 ? std::round(ticks_.last("kimg").value_or(0.0) * 1000.0 / steps)
                                    : std::max(1.0, number_in(keys, "training.batch")) *
                                          std::max(1.0, number_in(keys, "discriminator.steps"));
  ordered_json all = ordered_json::object();
  for (const auto& [key, value] : keys) {
    all[key] = value;
  }
  return {{"kimg", number_in(keys, "training.kimg")},
          {"images_per_step", images},
          {"total_steps",
           images > 0.0 ? std::ceil(number_in(keys, "training.kimg") * 1000.0 / images) : 0.0},
          {"keys", std::move(all)}};
}

ordered_json RunView::progress_json(const ordered_json& job, bool is_over) const {
  const auto kimg = ticks_.last("kimg");
  const auto rate = ticks_.recent_mean("images_per_second", kRateTicks);
  const double to_go = job["kimg"].get<double>() - kimg.value_or(0.0);
  ordered_json seconds_to_go;
  if (!is_over && rate && *rate > 0.0 && to_go > 0.0) {
    seconds_to_go = std::round(to_go * 1000.0 / *rate);
  }
  return {{"step", or_null(ticks_.last("step"))},
          {"kimg", or_null(kimg)},
          {"seconds", or_null(ticks_.last("seconds_total"))},
          {"unix", or_null(ticks_.last("unix_seconds"))},
          {"images_per_second", or_null(ticks_.last("images_per_second"))},
          {"seconds_to_go", seconds_to_go}};
}

ordered_json RunView::events_json() const {
  auto list = ordered_json::array();
  for (const RunEvent& event : events_) {
    list.push_back(event_json(event));
  }
  const auto decisions = or_empty([&] { return read_decisions(run_); });
  for (const Decision& decision : decisions.value_or(Decisions{})) {
    if (decision.kind != DecisionKind::kScore) {  // the log has its line
      list.push_back(event_json({.unix_seconds = {},
                                 .step = decision.change.step,
                                 .kind = std::string(name_of(decision.kind)),
                                 .text = decision.why}));
    }
  }
  for (const SteeringEvent& asked : or_empty([&] { return read_steering(run_); })) {
    list.push_back(event_json(
        {.unix_seconds = asked.unix_seconds,
         .step = asked.step,
         .kind = "control",
         .text = fmt::format("{} asked by {}: {}", asked.command, asked.who, asked.answer)}));
  }
  return list;
}

ordered_json RunView::scores_json(double images_per_step) const {
  auto list = ordered_json::array();
  for (const auto& [metric, values] : scores_) {
    auto points = ordered_json::array();
    for (const auto& [step, value] : values) {
      points.push_back({{"step", step},
                        {"kimg", static_cast<double>(step) * images_per_step / 1000.0},
                        {"value", value}});
    }
    list.push_back({{"metric", metric}, {"points", std::move(points)}});
  }
  return list;
}

ordered_json RunView::checkpoints_json() {
  const FileTime changed = time_of_change(run_ / kCheckpointsFolder);
  if (!changed || changed != caches_->checkpoints_of) {
    caches_->checkpoints = checkpoint_list(run_);
    caches_->checkpoints_of = changed;
  }
  return caches_->checkpoints;
}

ordered_json RunView::advice_json() const {
  ordered_json list = ordered_json::array();
  for (const Advice& advice : advice_.current()) {
    list.push_back(ordered_json(json_of(advice)));
  }
  return {{"computing", advice_.computing()}, {"list", std::move(list)}};
}

ordered_json RunView::timeline_json() {
  const fs::path trace = run_ / kTraceFolder / kMergedTraceFile;
  const FileTime changed = time_of_change(trace);
  if (changed != caches_->timeline_of) {
    caches_->timeline = step_timeline(trace);
    caches_->timeline_of = changed;
  }
  return caches_->timeline;
}

ordered_json RunView::document() {
  read_ticks();
  read_log();
  ordered_json state = run_state(run_);
  const bool is_over = state["state"] != "running" && state["state"] != "unknown";
  ordered_json job = job_json(job_keys(run_));
  const double images_per_step = job["images_per_step"].get<double>();
  ordered_json run = {{"name", run_.filename().string()},
                      {"folder", run_.string()},
                      {"incarnation", incarnation_of(run_)},
                      {"command", first_line(run_ / kCommandFile)}};
  run.update(state);
  return {{"format", kDocumentFormat},
          {"run", std::move(run)},
          {"progress", progress_json(job, is_over)},
          {"job", std::move(job)},
          {"num_ticks", ticks_.size()},
          {"damaged_lines", damaged_lines_},
          {"ticks", ticks_.json(limits_.ticks)},
          {"rank_parts", rank_parts_},
          {"advice", advice_json()},
          {"scores", scores_json(images_per_step)},
          {"events", events_json()},
          {"workers", worker_list(run_)},
          {"checkpoints", checkpoints_json()},
          {"pictures", picture_list(run_, picture_steps_, images_per_step)},
          {"timeline", timeline_json()},
          {"log", std::vector<std::string>(last_lines_.begin(), last_lines_.end())}};
}

}  // namespace gangway::report
