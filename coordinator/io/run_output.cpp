// SPDX-License-Identifier: MIT
#include "coordinator/io/run_output.hpp"

#include <chrono>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/time.hpp"
#include "report/advice/advice.hpp"
#include "report/log_file.hpp"
#include "report/progress_bar.hpp"
#include "report/run_view/run_records.hpp"
#include "report/tensorboard.hpp"
#include "report/trace_merge.hpp"
#include "run/trace_steps.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPictureBytes = std::size_t{64} << 20U;
constexpr std::chrono::seconds kLastWords{10};  // time for pending writes at the end

/// Returns "Pictures/fakes" for fakes000484.png.
std::string picture_tag(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  return "Pictures/" + stem.substr(0, stem.find_first_of("0123456789"));
}

}  // namespace

/// State of the writing thread; the constructor uses it before any work is submitted.
struct RunOutput::State {
  fs::path run_directory;
  Identity self;
  Terminal terminal;
  std::unique_ptr<spdlog::logger> log;
  std::optional<report::ProgressBar> bar;
  std::optional<report::StatsFile> stats;
  std::unique_ptr<report::TensorboardWriter> tensorboard;
  std::unique_ptr<report::AdviceTracker> advice;
  bool has_merged_traces = false;
  std::set<std::string> failed_writes;  ///< writes that have failed and been reported

  State(fs::path directory, Identity identity, Terminal where)
      : run_directory(std::move(directory)),
        self(std::move(identity)),
        terminal(std::move(where)),
        log(report::open_log_file(run_directory, Rank(0))) {
    log->set_error_handler([this](const std::string& error) { warn("the log file", error); });
    if (terminal.bar_columns > 0) {
      bar.emplace(terminal.out, terminal.bar_columns);
    }
  }

  void print(const std::string& lines) {
    if (bar) {
      bar->clear();
    }
    terminal.out << lines << '\n' << std::flush;
    log->info("{}", lines);
  }

  void warn(const std::string& what, const std::string& error) {
    if (failed_writes.insert(what).second) {
      print(fmt::format("warn  {} cannot be written: {}", what, error));
    }
  }

  void try_writing(const std::string& what, const std::function<void()>& write) {
    try {
      write();
    } catch (const Error& error) {
      warn(what, error.what());
    } catch (const std::system_error& error) {  // thrown by std::filesystem
      warn(what, error.what());
    }
  }

  void add_picture(const std::string& file, std::int64_t step) {
    const auto png = read_small_file(run_directory / file, kMaxPictureBytes);
    if (!png) {
      print(fmt::format("warn  {} was announced but does not exist in {}", file,
                        run_directory.string()));
      return;
    }
    tensorboard->add_image(picture_tag(file), *png, step);
    log->info("picture {} of step {}", file, step);
  }

  void merge_traces(int num_workers, bool is_end) {
    const fs::path folder = run_directory / kTraceFolder;
    if (has_merged_traces || (!is_end && !report::is_trace_complete(folder, num_workers))) {
      return;
    }
    has_merged_traces = true;
    const int merged = report::merge_traces(folder, num_workers);
    print(merged > 0 ? fmt::format("trace  {} of {} workers: {}", merged, num_workers,
                                   (folder / kMergedTraceFile).string())
                     : fmt::format("warn  no worker has left a trace in {}", folder.string()));
  }
};

RunOutput::RunOutput(fs::path run_directory, Identity self, Terminal terminal)
    : viewers_(terminal.viewers),
      state_(std::make_shared<State>(std::move(run_directory), std::move(self),
                                     std::move(terminal))) {}

RunOutput::~RunOutput() { thread_.finish(kLastWords); }

void RunOutput::submit(std::function<void(State&)> work) {
  thread_.poll();  // frees finished work
  thread_.submit([state = state_, work = std::move(work)]() -> DiskThread::Follow {
    work(*state);
    return [] {};
  });
}

std::optional<report::StatsPosition> RunOutput::begin_at(std::int64_t step) {
  // The thread does not use stats or tensorboard yet.
  state_->stats.emplace(state_->run_directory / "stats.jsonl", step);
  state_->tensorboard = std::make_unique<report::TensorboardWriter>(
      state_->run_directory,
      report::EventFileId{.host = state_->self.host, .pid = state_->self.pid}, unix_seconds, step);
  state_->advice =
      std::make_unique<report::AdviceTracker>(report::advice_keys(state_->run_directory));
  return state_->stats->last_kept();
}

void RunOutput::print(std::string lines) {
  if (viewers_.line) {
    viewers_.line(lines);
  }
  submit([lines = std::move(lines)](State& state) { state.print(lines); });
}

void RunOutput::print_error(std::string text) {
  submit([text = std::move(text)](State& state) { state.terminal.err << text << std::flush; });
}

void RunOutput::log(std::string line) {
  submit([line = std::move(line)](State& state) { state.log->info("{}", line); });
}

void RunOutput::show_tick(report::Tick tick, double fraction_done, std::string beside_bar) {
  if (viewers_.tick) {
    viewers_.tick(tick);
  }
  submit([tick = std::move(tick), fraction_done, beside_bar = std::move(beside_bar)](State& state) {
    state.print(report::tick_line(tick));
    state.try_writing("stats.jsonl", [&] { state.stats->append(tick); });
    state.try_writing("the TensorBoard file", [&] { state.tensorboard->add_tick(tick); });
    for (const report::Advice& one : state.advice->add(nlohmann::json::parse(tick_json(tick)))) {
      state.log->info("advise  {}", report::advice_line(one));
    }
    if (state.bar) {
      state.bar->draw(fraction_done, beside_bar);
    }
  });
}

void RunOutput::end_bar() {
  submit([](State& state) {
    if (state.bar) {
      state.bar->clear();
      state.bar.reset();
    }
  });
}

void RunOutput::add_scores(std::span<const checkpoint::NamedScore> scores, std::int64_t step,
                           double kimg) {
  report::StatsScores line{.step = step, .kimg = kimg};
  for (const checkpoint::NamedScore& one : scores) {
    if (viewers_.score) {
      viewers_.score(one.metric, one.value);
    }
    line.scores.emplace_back(one.metric, one.value);
  }
  submit([line = std::move(line)](State& state) {
    state.try_writing("stats.jsonl", [&] { state.stats->append(line); });
    state.try_writing("the TensorBoard file", [&] {
      for (const auto& [metric, value] : line.scores) {
        state.tensorboard->add_scalar("Metrics/" + metric, value, line.step);
      }
    });
  });
}

void RunOutput::add_text(std::string tag, std::string text, std::int64_t step) {
  submit([tag = std::move(tag), text = std::move(text), step](State& state) {
    state.try_writing("the TensorBoard file",
                      [&] { state.tensorboard->add_text(tag, text, step); });
  });
}

void RunOutput::add_picture(std::string file, std::int64_t step) {
  submit([file = std::move(file), step](State& state) {
    state.try_writing("a picture for TensorBoard", [&] { state.add_picture(file, step); });
  });
}

void RunOutput::merge_traces(int num_workers, bool is_end) {
  submit([num_workers, is_end](State& state) {
    state.try_writing("the merged trace", [&] { state.merge_traces(num_workers, is_end); });
  });
}

void RunOutput::begin_trace() {
  submit([](State& state) {
    state.has_merged_traces = false;
    std::error_code ignored;  // remaining files are overwritten
    fs::remove_all(state.run_directory / kTraceFolder, ignored);
  });
}

void RunOutput::write(std::string what, std::function<void()> write) {
  submit([what = std::move(what), write = std::move(write)](State& state) {
    state.try_writing(what, write);
  });
}

void RunOutput::warn_of_writing(std::string what, std::string error) {
  submit([what = std::move(what), error = std::move(error)](State& state) {
    state.warn(what, error);
  });
}

}  // namespace gangway::coordinator
