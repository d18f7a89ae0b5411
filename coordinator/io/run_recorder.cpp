// SPDX-License-Identifier: MIT
#include "coordinator/io/run_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/units.hpp"
#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "checkpoint/store/retention.hpp"
#include "coordinator/core/score_watch.hpp"
#include "coordinator/resume/history.hpp"
#include "coordinator/resume/start_texts.hpp"
#include "coordinator/steering/settable_keys.hpp"
#include "coordinator/trouble/rollback.hpp"
#include "coordinator/trouble/watch_history.hpp"
#include "job/file/fingerprint.hpp"
#include "job/layout/layout.hpp"
#include "job/number_changes.hpp"
#include "report/failure_box.hpp"
#include "report/log_file.hpp"
#include "run/decision_file.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

/// Returns "; the best checkpoint is step-000000300": the best that checkpoint.keep_best keeps, the
/// newest of equal ones.
std::string best_line(const Decisions& decisions) {
  const Decision* best = nullptr;
  for (const Decision& decision : decisions) {
    if (decision.score && (best == nullptr || *decision.score <= *best->score)) {
      best = &decision;
    }
  }
  return best == nullptr ? "" : fmt::format("; the best checkpoint is that of step {}", best->seen);
}

}  // namespace

RunRecorder::RunRecorder(const StartedRun& run, ResumeCommands resume_commands, Identity self,
                         Terminal terminal)
    : run_(run),
      resume_commands_(std::move(resume_commands)),
      kept_(active_commands(run.spec, read_steering(run.directory)).job.checkpoint),
      decisions_(run.decisions),
      self_(std::move(self)),
      output_(run.directory, self_, std::move(terminal)) {}

std::optional<report::StatsPosition> RunRecorder::begin_at(std::int64_t step) {
  last_checkpoint_ = run_.resume ? run_.resume->path.string() : "";
  const auto last = output_.begin_at(step);
  trace_ = run_.trace;
  if (const Restart* loss = loss_before()) {
    record_event(step, fmt::format("{}: {}", loss->why, loss->answer));
  } else if (step > 0) {
    record_event(step, fmt::format("continues with {} worker{}", run_.num_workers,
                                   run_.num_workers == 1 ? "" : "s"));
  }
  has_begun_ = true;
  // TensorBoard drops an earlier start's marks beyond `step`, but these decisions still apply.
  for (const Decision& decision : decisions_) {
    if (decision.change.step > step) {
      mark(decision);
    }
  }
  return last;
}

void RunRecorder::say(const std::string& line) {
  output_.print(line);
  listener_(line);
}

void RunRecorder::record_event(std::int64_t step, const std::string& text) {
  output_.log(fmt::format("event at step {}: {}", step, text));
  output_.add_text("Events", text, step);
}

void RunRecorder::mark(const Decision& decision) {
  if (has_begun_ && decision.kind != DecisionKind::kScore) {  // scores have a curve instead
    record_event(decision.change.step, fmt::format("{}: {}", name_of(decision.kind), decision.why));
  }
}

void RunRecorder::show_header() {
  const JobSpec& spec = run_.spec;
  say(fmt::format("gangway {}  run {}", GANGWAY_VERSION, run_.directory.string()));
  say(fmt::format("job    {}; {}; {} kimg, batch {} in {} micro-batches, seed {}",
                  describe_model(spec.model), spec.data.source, spec.training.kimg,
                  spec.training.batch, spec.training.microbatches, spec.training.seed));
  if (const std::string inexact = declared_inexactness(spec); !inexact.empty()) {
    say("note   " + inexact);
  }
  if (const Restart* loss = loss_before()) {
    say(fmt::format("note   loss {} of this run: {}", run_.restarts.size(), loss->why));
  }
}

const Restart* RunRecorder::loss_before() const {
  const bool is_there =
      !run_.restarts.empty() && run_.restarts.back().start + 1 == run_.start.incarnation;
  return is_there ? &run_.restarts.back() : nullptr;
}

std::vector<PlacedRank> RunRecorder::placed_ranks(const Membership& membership,
                                                  const Layout& layout) const {
  std::vector<PlacedRank> ranks{
      {.rank = Rank(0), .role = "coordinator", .host = self_.host, .pid = self_.pid}};
  for (const Member& member : membership.members()) {
    ranks.push_back(
        {.rank = member.rank,
         .role = "worker",
         .host = member.host,
         .pid = member.process.pid,
         .device = member.device,
         .microbatches = layout.range_of(worker_of(member.rank).value()),
         .networks = layout.held_by(worker_of(member.rank).value(), run_.spec.network_names())});
  }
  return ranks;
}

void RunRecorder::show_placement(const Membership& membership, const ShowPlacement& placement) {
  const messages::Ready& ready = placement.ready;
  const std::vector<PlacedRank> ranks = placed_ranks(membership, placement.layout);
  output_.write(std::string(kPlacementFile),
                [directory = run_.directory, ranks] { write_placement(directory, ranks); });
  say(placement_table(ranks));
  say(fmt::format("model  {}; {}", parameter_counts(run_.spec, ready), ready.plan_summary));
  const auto before = state_before(run_, placement.step);
  software_ = software_now(ready, before);
  RunStart start = run_.start;
  start.begun = placement.step;
  start.data_fingerprint = ready.data_fingerprint;
  start.data_read = checkpoint::rfc3339(std::chrono::system_clock::now());
  start.software = software_;
  start.computed = start.incarnation;
  output_.write(std::string(kRunStartFile),
                [directory = run_.directory, start] { write_run_start(directory, start); });
  data_fingerprint_ = ready.data_fingerprint;
  if (before) {
    for (const std::string& line : change_warnings(*before, software_, ready, run_.spec)) {
      say(line);
    }
  }
}

void RunRecorder::show_tick(report::Tick tick) {
  tick.checkpoints = std::exchange(saved_, {});
  const auto total = static_cast<double>(std::max<std::int64_t>(1, run_.spec.total_steps()));
  const bool is_traced = !trace_.empty() && tick.step >= trace_.end;
  const double fraction_done = static_cast<double>(tick.step) / total;
  std::string beside_bar = fmt::format("{:.1f} of {} kimg, {:.0f} images/s", tick.kimg,
                                       run_.spec.training.kimg, tick.images_per_second);
  output_.show_tick(std::move(tick), fraction_done, std::move(beside_bar));
  if (is_traced) {
    output_.merge_traces(run_.num_workers, /*is_end=*/false);
  }
}

CommitWork RunRecorder::commit_work(const CompleteCheckpoint& complete, std::int64_t epoch,
                                    std::set<std::int64_t> in_use) const {
  const JobSpec& spec = run_.spec;
  checkpoint::Manifest manifest;
  manifest.step = complete.step;
  manifest.images = complete.step * spec.images_per_step();
  manifest.epoch = epoch;
  manifest.job_yaml = run_.job_yaml;
  manifest.job_fingerprint = job_fingerprint(spec);
  manifest.model_fingerprint = model_fingerprint(spec);
  manifest.numerics = numerics_text(spec);
  manifest.data_fingerprint = data_fingerprint_;
  manifest.data_cursor =
      complete.step * spec.training.batch * std::int64_t{spec.real_batches_per_step()};
  manifest.software = software_;
  manifest.created = checkpoint::rfc3339(std::chrono::system_clock::now());
  // Decisions from scores that take effect at a later step do not belong to this state.
  Decisions until_here = decisions_;
  std::erase_if(until_here, [&](const Decision& one) {
    return follows_from_scores(one.kind) && one.change.step >= complete.step;
  });
  manifest.events = events_of(until_here);
  for (int worker = 0; const messages::CheckpointPart& part : complete.parts) {
    manifest.files.push_back(
        {.name = part.file, .worker = worker++, .bytes = part.bytes, .xxh3_128 = part.xxh3_128});
  }
  return {.temporary = saving_.at(complete.step),
          .manifest = std::move(manifest),
          .retention = retention(std::move(in_use))};
}

checkpoint::RetentionPolicy RunRecorder::retention(std::set<std::int64_t> in_use) const {
  return {.keep = kept_.keep,
          .keep_every_steps = run_.spec.steps_of_kimg(kept_.keep_every),
          .keep_best = kept_.keep_best,
          .in_use = std::move(in_use)};
}

void RunRecorder::show_commit(const CompleteCheckpoint& complete, const CommitResult& result) {
  if (result.error.empty()) {
    last_checkpoint_ = result.path.string();
    has_saved_ = true;
    saving_.erase(complete.step);
    show_saved(complete, result.path, complete.seconds() + result.seconds);
  }
  show_removals(result.warnings, result.removed);
}

void RunRecorder::show_removals(const std::vector<std::string>& warnings,
                                const std::vector<fs::path>& removed) {
  for (const std::string& warning : warnings) {
    say("warn  " + warning);
  }
  for (const fs::path& path : removed) {
    output_.log("removed " + path.string());
  }
}

bool RunRecorder::scores(std::int64_t step) const {
  const ScorePlan plan = score_plan(run_.spec);
  const bool is_any_scored = !plan.is_any() && run_.spec.evaluation.every_kimg == 0.0;
  return !run_.replays && run_.spec.is_scored() &&
         (is_any_scored || plan.counts(step) || step == run_.spec.total_steps());
}

ScoreWork RunRecorder::score_work(std::int64_t step, std::set<std::int64_t> in_use) const {
  return {.checkpoints = checkpoints(), .step = step, .retention = retention(std::move(in_use))};
}

void RunRecorder::show_score(std::int64_t step, const ScoreResult& result) {
  if (result.score) {
    const checkpoint::CheckpointScore& score = *result.score;
    std::vector<checkpoint::NamedScore> all{{score.metric, score.value, score.better}};
    all.insert(all.end(), score.beside.begin(), score.beside.end());
    for (const checkpoint::NamedScore& one : all) {
      const bool is_best = result.is_best && &one == &all.front();
      const bool sees_grey = run_.spec.model.channels > 1 && one.metric.ends_with("LeNet");
      say(fmt::format("score  step {}  {} {:.4f}{}{}", step, one.metric, one.value,
                      is_best ? "  best" : "", sees_grey ? "  (it sees no colours)" : ""));
    }
    output_.add_scores(all, step, static_cast<double>(step * run_.spec.images_per_step()) / 1000.0);
  }
  show_removals(result.warnings, result.removed);
}

void RunRecorder::show_saved(const CompleteCheckpoint& complete, const fs::path& path,
                             double seconds) {
  const double mib = complete.bytes() / kMebibyte;
  saved_.push_back({.step = complete.step, .seconds = seconds, .mib = mib});
  say(fmt::format("ckpt   {}  {} file{}  {:.1f} MiB  written in {:.2f} s, {:.0f} MB/s",
                  path.filename().string(), complete.parts.size(),
                  complete.parts.size() == 1 ? "" : "s", mib, seconds,
                  seconds > 0.0 ? mib * kMebibyte / 1e6 / seconds : 0.0));
}

std::optional<fs::path> RunRecorder::give_up_checkpoint(std::int64_t step) {
  auto given_up = saving_.extract(step);
  return given_up ? std::optional(std::move(given_up.mapped())) : std::nullopt;
}

std::vector<fs::path> RunRecorder::give_up_checkpoints() {
  std::vector<fs::path> folders;
  for (auto& [step, folder] : std::exchange(saving_, {})) {
    folders.push_back(std::move(folder));
  }
  return folders;
}

std::function<void()> RunRecorder::record_work(const Decisions& decisions) const {
  return [directory = run_.directory, decisions] { write_decisions(directory, decisions); };
}

void RunRecorder::recorded(const Decisions& decisions) {
  const auto first_news = std::ranges::mismatch(decisions, decisions_).in1;
  std::for_each(first_news, decisions.end(), [this](const Decision& one) { mark(one); });
  decisions_ = decisions;
}

void RunRecorder::keep_watch(const std::string& text) {
  output_.write(std::string(kWatchFile), [directory = run_.directory, text] {
    write_file_atomically(directory / kWatchFile, text);
  });
}

void RunRecorder::record_steering(const SteeringEvent& event, const SteeringWritten& written) {
  output_.write(std::string(kSteeringFile), [directory = run_.directory, event, written] {
    append_steering(directory, event, written);
  });
}

void RunRecorder::report_failure(const RunEnd& end, const Membership& membership) {
  report::Failure failure;
  failure.rank = end.rank;
  failure.host = self_.host;
  failure.pid = self_.pid;
  if (end.rank != Rank()) {
    failure.host = membership.member(end.rank).host;
    failure.pid = membership.member(end.rank).process.pid;
    failure.signal = membership.member(end.rank).signal;
  }
  failure.job_exit_code = end.exit_code;
  failure.reason = end.reason;
  failure.time = std::chrono::system_clock::now();
  failure.step = end.step;
  failure.log_file = (run_.directory / kLogsFolder / report::log_file_name(end.rank)).string();
  failure.last_checkpoint = last_checkpoint_;
  failure.resume_command = has_saved_ && !resume_commands_.after_save.empty()
                               ? resume_commands_.after_save
                               : resume_commands_.before_save;
  if (end.is(ExitCode::kDiverged)) {
    failure.change = change_after_trouble(run_.spec.training.divergence, decisions_);
  }
  const bool is_mystery = (end.is(ExitCode::kWorkerLost) && !run_.goes_on) ||
                          end.is(ExitCode::kInternal) || end.is(ExitCode::kDiverged);
  output_.print_error(fmt::format("gangway: {}\n", end.reason) +
                      (is_mystery ? report::failure_box(failure) : std::string()));
  output_.write(std::string(kErrorFile), [directory = run_.directory, failure] {
    write_file_atomically(directory / kErrorFile, report::failure_json(failure));
  });
}

void RunRecorder::finish(const RunEnd& end, const Membership& membership) {
  // Leaves unfinished checkpoints, because a worker may still write; the next start removes them.
  output_.end_bar();
  // Written first, because `gangway run` takes its exit code from it.
  status_ = end;
  try_write_status(run_.directory, status_);
  output_.log(fmt::format("ends with exit code {}: {}", end.exit_code, end.reason));
  if (!trace_.empty()) {
    output_.merge_traces(run_.num_workers, /*is_end=*/true);
  }
  if (end.exit_code == 0) {
    say(fmt::format("done   {} steps; checkpoint {}", end.step, last_checkpoint_));
    if (end.step < run_.spec.total_steps()) {
      say(fmt::format("note   {}{}", end.reason, best_line(decisions_)));
    }
    if (run_.spec.output.pictures_kimg > 0.0) {
      const std::string run = run_.directory.string();
      say(
          fmt::format("note   pictures are in {}; gangway sample {} makes more, gangway evaluate "
                      "{} scores them",
                      run, run, run));
    }
  } else if (end.rolled_back || end.is(ExitCode::kPreempted)) {
    say("note   " + end.reason);
  } else {
    report_failure(end, membership);
  }
}

checkpoint::KeepSnapshots RunRecorder::keep_work(std::int64_t step) const {
  return {.folder = run_.directory / checkpoint::kSnapshotsFolder,
          .key = checkpoint::snapshot_key(run_.directory, job_fingerprint(run_.spec),
                                          run_.start.run_id),
          .from_step = step};
}

void RunRecorder::show_kept(const KeepResult& result) {
  if (!result.error.empty()) {
    output_.warn_of_writing("the snapshot's copy", result.error);
  } else if (result.copied > 0) {
    say(fmt::format("kept   the snapshot of step {}, as far as this host has it, in {}/{}",
                    result.from_step, run_.directory.string(), checkpoint::kSnapshotsFolder));
  }
}

void RunRecorder::end_keeping() {
  if (std::exchange(status_.keeps, false)) {
    try_write_status(run_.directory, status_);
  }
}

}  // namespace gangway::coordinator
