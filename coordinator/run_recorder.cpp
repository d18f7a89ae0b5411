// SPDX-License-Identifier: MIT
#include "coordinator/run_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/retention.hpp"
#include "job/atomic_file.hpp"
#include "job/errors.hpp"
#include "job/fingerprint.hpp"
#include "job/microbatch_ranges.hpp"
#include "report/failure_box.hpp"
#include "report/log_file.hpp"
#include "report/table.hpp"
#include "report/trace_merge.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr std::size_t kMaxPictureBytes = std::size_t{64} << 20U;

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double mebibytes(const CompleteCheckpoint& checkpoint) {
  double bytes = 0.0;
  for (const CheckpointFile& file : checkpoint.files) {
    bytes += static_cast<double>(file.bytes);
  }
  return bytes / kMebibyte;
}

/// From the whole snapshot to the synced file, of the slowest worker.
double seconds_of_files(const CompleteCheckpoint& checkpoint) {
  double seconds = 0.0;
  for (const CheckpointFile& file : checkpoint.files) {
    seconds = std::max(seconds, file.seconds);
  }
  return seconds;
}

/// "Pictures/fakes" for fakes000484.png.
std::string picture_tag(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  return "Pictures/" + stem.substr(0, stem.find_first_of("0123456789"));
}

std::string exit_line(const Outcome& outcome) {
  return fmt::format("gangway: {}\n", outcome.reason);
}

}  // namespace

RunRecorder::RunRecorder(const StartedRun& run, ResumeCommands resume_commands, Identity self,
                         Terminal terminal)
    : run_(run),
      resume_commands_(std::move(resume_commands)),
      self_(std::move(self)),
      terminal_(terminal),
      log_(report::open_log_file(run.directory, 0)) {
  log_->set_error_handler(
      [this](const std::string& error) { warn_of_writing("the log file", error); });
  if (terminal_.bar_columns > 0) {
    bar_.emplace(terminal_.out, terminal_.bar_columns);
  }
}

RunRecorder::~RunRecorder() = default;

std::optional<report::StatsPosition> RunRecorder::begin_at(std::int64_t step) {
  last_checkpoint_ = run_.resume ? run_.resume->path.string() : "";
  stats_.emplace(run_.directory / "stats.jsonl", step);
  tensorboard_ = std::make_unique<report::TensorboardWriter>(
      run_.directory, report::EventFileId{.host = self_.host, .pid = self_.pid}, unix_seconds,
      step);
  return stats_->last_kept();
}

void RunRecorder::print(const std::string& line) {
  if (bar_) {
    bar_->clear();
  }
  terminal_.out << line << '\n' << std::flush;
  log_->info("{}", line);
}

void RunRecorder::try_writing(const std::string& what, const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    warn_of_writing(what, error.what());
  } catch (const std::system_error& error) {  // of std::filesystem
    warn_of_writing(what, error.what());
  }
}

void RunRecorder::warn_of_writing(const std::string& what, const std::string& error) {
  if (failed_writes_.insert(what).second) {
    say(fmt::format("warn  {} cannot be written: {}", what, error));
  }
}

void RunRecorder::say(const std::string& line) { print(line); }

void RunRecorder::show_header() {
  const JobSpec& spec = run_.spec;
  print(fmt::format("gangway {}  run {}", GANGWAY_VERSION, run_.directory.string()));
  print(fmt::format("job    {}; {}; {} kimg, batch {} in {} micro-batches, seed {}",
                    describe_model(spec.model), spec.data.source, spec.training.kimg,
                    spec.training.batch, spec.training.microbatches, spec.training.seed));
  if (const std::string inexact = declared_inexactness(spec); !inexact.empty()) {
    print("note   " + inexact);
  }
}

std::vector<PlacedRank> RunRecorder::placed_ranks(const Membership& membership) const {
  const auto num_workers = static_cast<int>(membership.members().size());
  std::vector<PlacedRank> ranks{{.rank = 0,
                                 .role = "coordinator",
                                 .host = self_.host,
                                 .pid = self_.pid,
                                 .device = {},
                                 .microbatches = {}}};
  for (const Member& member : membership.members()) {
    ranks.push_back({.rank = member.rank,
                     .role = "worker",
                     .host = member.host,
                     .pid = member.pid,
                     .device = member.device,
                     .microbatches = microbatch_range(run_.spec.training.microbatches, num_workers,
                                                      member.rank - 1)});
  }
  return ranks;
}

void RunRecorder::show_placement(const Membership& membership, const ShowPlacement& placement) {
  const std::vector<PlacedRank> ranks = placed_ranks(membership);
  try_writing("placement.json", [&] { write_placement(run_.directory, ranks); });
  report::Table table({{.title = "rank", .align = report::Align::kRight},
                       {.title = "host"},
                       {.title = "device"},
                       {.title = "role"},
                       {.title = "micro-batches"},
                       {.title = "pid", .align = report::Align::kRight}});
  for (const PlacedRank& rank : ranks) {
    const bool works = rank.microbatches.size() > 0;
    table.add_row(
        {std::to_string(rank.rank), rank.host, rank.device.empty() ? "-" : rank.device, rank.role,
         works ? fmt::format("{}-{}", rank.microbatches.begin, rank.microbatches.end - 1) : "-",
         std::to_string(rank.pid)});
  }
  std::string text = table.text();
  text.erase(text.find_last_not_of('\n') + 1);
  print(text);
  print(fmt::format("model  generator {} parameters, discriminator {}; {}",
                    placement.generator_parameters, placement.discriminator_parameters,
                    placement.plan_summary));
  data_fingerprint_ = placement.data_fingerprint;
  software_ = {{"gangway", GANGWAY_VERSION}, {"libtorch", placement.libtorch}};
  if (run_.resume) {
    warn_of_changes(run_.resume->manifest);
  }
}

void RunRecorder::warn_of_changes(const checkpoint::Manifest& before) {
  if (before.data_fingerprint != data_fingerprint_) {
    say("warn  the data have changed since the checkpoint was saved: from here on it trains to "
        "other numbers");
  }
  for (const auto& [name, version] : before.software) {
    if (const auto now = software_.find(name); now != software_.end() && now->second != version) {
      say(
          fmt::format("warn  {} was {} when the checkpoint was saved and is {} now: the numbers "
                      "may differ from here on",
                      name, version, now->second));
    }
  }
}

void RunRecorder::show_tick(report::Tick tick) {
  tick.checkpoints = std::exchange(saved_, {});
  print(report::tick_line(tick));
  try_writing("stats.jsonl", [&] { stats_->append(tick); });
  try_writing("the TensorBoard file", [&] { tensorboard_->add_tick(tick); });
  if (tick.step >= run_.trace.end) {
    merge_traces(/*is_end=*/false);
  }
  if (bar_) {
    const auto total = static_cast<double>(std::max<std::int64_t>(1, run_.spec.total_steps()));
    bar_->draw(static_cast<double>(tick.step) / total,
               fmt::format("{:.1f} of {} kimg, {:.0f} images/s", tick.kimg, run_.spec.training.kimg,
                           tick.images_per_second));
  }
}

void RunRecorder::merge_traces(bool is_end) {
  const fs::path folder = run_.directory / kTraceFolder;
  if (has_merged_traces_ || run_.trace.empty() ||
      (!is_end && !report::is_trace_complete(folder, run_.num_workers))) {
    return;
  }
  has_merged_traces_ = true;
  try_writing("the merged trace", [&] {
    const int merged = report::merge_traces(folder, run_.num_workers);
    say(merged > 0 ? fmt::format("trace  {} of {} workers: {}", merged, run_.num_workers,
                                 (folder / kMergedTraceFile).string())
                   : fmt::format("warn  no worker has left a trace in {}", folder.string()));
  });
}

void RunRecorder::show_picture(const ShowPicture& picture) {
  try_writing("a picture for TensorBoard", [&] {
    const auto png = read_small_file(run_.directory / picture.file, kMaxPictureBytes);
    if (!png) {
      say(fmt::format("warn  {} was announced but does not exist in {}", picture.file,
                      run_.directory.string()));
      return;
    }
    tensorboard_->add_image(picture_tag(picture.file), *png, picture.step);
    log_->info("picture {} of step {}", picture.file, picture.step);
  });
}

fs::path RunRecorder::begin_checkpoint(std::int64_t step) {
  fs::path folder = checkpoint::begin_checkpoint(run_.directory / kCheckpointsFolder, step);
  saving_[step] = folder;
  return folder;
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
  manifest.data_cursor = manifest.images;
  manifest.software = software_;
  manifest.created = checkpoint::rfc3339(std::chrono::system_clock::now());
  for (const CheckpointFile& file : complete.files) {
    manifest.files.push_back(
        {.name = file.name, .worker = file.worker, .bytes = file.bytes, .xxh3_128 = file.xxh3_128});
  }
  return {.temporary = saving_.at(complete.step),
          .manifest = std::move(manifest),
          .retention = retention(std::move(in_use))};
}

checkpoint::RetentionPolicy RunRecorder::retention(std::set<std::int64_t> in_use) const {
  const CheckpointSpec& spec = run_.spec.checkpoint;
  return {.keep = spec.keep,
          .keep_every_steps = run_.spec.steps_of_kimg(spec.keep_every),
          .keep_best = spec.keep_best,
          .in_use = std::move(in_use)};
}

void RunRecorder::show_commit(const CompleteCheckpoint& complete, const CommitResult& result) {
  if (result.error.empty()) {
    last_checkpoint_ = result.path.string();
    has_saved_ = true;
    saving_.erase(complete.step);
    show_saved(complete, result.path, seconds_of_files(complete) + result.seconds);
  }
  show_removals(result.warnings, result.removed);
}

void RunRecorder::show_removals(const std::vector<std::string>& warnings,
                                const std::vector<fs::path>& removed) {
  for (const std::string& warning : warnings) {
    say("warn  " + warning);
  }
  for (const fs::path& path : removed) {
    log_->info("removed {}", path.string());
  }
}

ScoreWork RunRecorder::score_work(std::int64_t step, std::set<std::int64_t> in_use) const {
  return {.checkpoints = run_.directory / kCheckpointsFolder,
          .step = step,
          .retention = retention(std::move(in_use))};
}

void RunRecorder::show_score(std::int64_t step, const ScoreResult& result) {
  if (result.score) {
    const checkpoint::CheckpointScore& score = *result.score;
    print(fmt::format("score  step {}  {} {:.4f}{}", step, score.metric, score.value,
                      result.is_best ? "  best" : ""));
    try_writing("the TensorBoard file",
                [&] { tensorboard_->add_scalar("Metrics/" + score.metric, score.value, step); });
  }
  show_removals(result.warnings, result.removed);
}

void RunRecorder::show_saved(const CompleteCheckpoint& complete, const fs::path& path,
                             double seconds) {
  const double mib = mebibytes(complete);
  saved_.push_back({.step = complete.step, .seconds = seconds, .mib = mib});
  print(fmt::format("ckpt   {}  {} file{}  {:.1f} MiB  written in {:.2f} s, {:.0f} MB/s",
                    path.filename().string(), complete.files.size(),
                    complete.files.size() == 1 ? "" : "s", mib, seconds,
                    seconds > 0.0 ? mib * kMebibyte / 1e6 / seconds : 0.0));
}

std::optional<fs::path> RunRecorder::give_up_checkpoint(std::int64_t step) {
  const auto found = saving_.find(step);
  if (found == saving_.end()) {
    return std::nullopt;
  }
  const fs::path folder = found->second;
  saving_.erase(found);
  return folder;
}

void RunRecorder::report_failure(const Outcome& outcome, const Membership& membership) {
  report::Failure failure;
  failure.rank = outcome.rank;
  failure.host = self_.host;
  failure.pid = self_.pid;
  if (outcome.rank > 0) {
    failure.host = membership.member(outcome.rank).host;
    failure.pid = membership.member(outcome.rank).pid;
    failure.signal = membership.member(outcome.rank).signal;
  }
  failure.job_exit_code = outcome.exit_code;
  failure.reason = outcome.reason;
  failure.time = std::chrono::system_clock::now();
  failure.step = outcome.step;
  failure.log_file = (run_.directory / kLogsFolder / report::log_file_name(outcome.rank)).string();
  failure.last_checkpoint = last_checkpoint_;
  failure.resume_command = has_saved_ && !resume_commands_.after_save.empty()
                               ? resume_commands_.after_save
                               : resume_commands_.before_save;
  const bool is_mystery = outcome.exit_code == static_cast<int>(ExitCode::kWorkerLost) ||
                          outcome.exit_code == static_cast<int>(ExitCode::kInternal) ||
                          outcome.exit_code == static_cast<int>(ExitCode::kDiverged);
  terminal_.err << exit_line(outcome) << (is_mystery ? report::failure_box(failure) : std::string())
                << std::flush;
  try_writing(std::string(kErrorFile), [&] {
    write_file_atomically(run_.directory / kErrorFile, report::failure_json(failure));
  });
}

void RunRecorder::finish(const Outcome& outcome, const Membership& membership, bool keeps) {
  // Folders of checkpoints under way stay: a worker may be writing there still; the next start
  // removes them.
  if (bar_) {
    bar_->clear();
    bar_.reset();
  }
  // First of all: the exit code of `gangway run` hangs on it.
  status_ = {.exit_code = outcome.exit_code, .reason = outcome.reason, .keeping = keeps};
  try_write_status(run_.directory, status_);
  log_->info("ends with exit code {}: {}", outcome.exit_code, outcome.reason);
  merge_traces(/*is_end=*/true);
  if (outcome.exit_code == 0) {
    print(fmt::format("done   {} steps; checkpoint {}", outcome.step, last_checkpoint_));
  } else if (outcome.exit_code == static_cast<int>(ExitCode::kPreempted)) {
    print("note   " + outcome.reason);
  } else {
    report_failure(outcome, membership);
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
    warn_of_writing("the snapshot's copy", result.error);
  } else if (result.copied > 0) {
    say(fmt::format("kept   the snapshot of step {}, as far as this host has it, in {}/{}",
                    result.from_step, run_.directory.string(), checkpoint::kSnapshotsFolder));
  }
}

void RunRecorder::end_keeping() {
  if (std::exchange(status_.keeping, false)) {
    try_write_status(run_.directory, status_);
  }
}

}  // namespace gangway::coordinator
