// SPDX-License-Identifier: MIT
#include "launch/control/status_text.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "base/text/shell_word.hpp"
#include "base/units.hpp"
#include "report/table.hpp"
#include "report/tick.hpp"

namespace gangway::launch {
namespace {

namespace wire = gangway::control::v1;

/// Describes a run before its first step: "starting, begun 3s ago, 1 of 3 workers up, waits for
/// rank 2, 3 to start".
std::string start_text(const wire::StatusReply& status) {
  const auto up = std::ranges::count_if(status.workers(), [](const wire::Worker& worker) {
    return worker.state() == "joined" || worker.state() == "ready";
  });
  return fmt::format("{}, begun {} ago, {} of {} workers up, waits for {}", status.phase(),
                     report::format_duration(status.seconds_up()), up, status.workers_size(),
                     status.waits_for());
}

std::string phase_text(const wire::StatusReply& status, const std::string& program) {
  if (!status.has_pause()) {
    return status.waits_for().empty() ? status.phase() : start_text(status);
  }
  const auto since = static_cast<std::time_t>(status.pause().unix_seconds());
  return fmt::format("{} since {:%Y-%m-%d %H:%M:%S}, by {}; to resume: {} resume {}",
                     status.phase(), fmt::localtime(since), status.pause().by(),
                     shell_word(program), shell_word(status.run_directory()));
}

std::string progress_text(const wire::StatusReply& status) {
  std::string text = fmt::format("step {} of {}, {:.1f} of {:.1f} kimg", status.step(),
                                 status.total_steps(), status.kimg(), status.total_kimg());
  if (status.images_per_second() > 0.0) {
    text += fmt::format(", {:.0f} images/s", status.images_per_second());
  }
  if (status.has_seconds_left()) {
    text += fmt::format(", {} left", report::format_duration(status.seconds_left()));
  }
  return text;
}

std::string saved_text(const wire::StatusReply& status) {
  if (!status.has_checkpoint()) {
    return "no checkpoint";
  }
  const wire::SavedState& saved = status.checkpoint();
  return fmt::format("step {}, {:.1f} kimg ago{}", saved.step(), saved.age_kimg(),
                     saved.has_age_seconds()
                         ? fmt::format(", {}", report::format_duration(saved.age_seconds()))
                         : ", by an earlier start");
}

/// Returns `text`; "-" before the worker's first tick, which reports the value.
std::string known(const wire::Worker& worker, std::string text) {
  return worker.resident_bytes() > 0 ? std::move(text) : "-";
}

std::string workers_text(const wire::StatusReply& status) {
  report::Table table({{.title = "rank", .align = Align::kRight},
                       {.title = "host"},
                       {.title = "device"},
                       {.title = "state"},
                       {.title = "micro-batches"},
                       {.title = "networks"},
                       {.title = "steps", .align = Align::kRight},
                       {.title = "work s/step", .align = Align::kRight},
                       {.title = "wait s/step", .align = Align::kRight},
                       {.title = "MiB", .align = Align::kRight},
                       {.title = "straggler"}});
  for (const wire::Worker& worker : status.workers()) {
    table.add_row(
        {std::to_string(worker.rank()), worker.host(), worker.device(), worker.state(),
         fmt::format("[{}, {})", worker.first_microbatch(), worker.end_microbatch()),
         worker.networks().empty() ? "all" : worker.networks(), std::to_string(worker.steps_done()),
         known(worker, fmt::format("{:.3f}", worker.work_seconds_per_step())),
         known(worker, fmt::format("{:.3f}", worker.wait_seconds_per_step())),
         known(worker,
               fmt::format("{:.0f}", static_cast<double>(worker.resident_bytes()) / kMebibyte)),
         worker.straggler() ? "yes" : ""});
  }
  return table.text();
}

}  // namespace

std::string status_text(const wire::StatusReply& status, const std::string& program) {
  std::string losses;
  for (const wire::Loss& loss : status.losses()) {
    losses += fmt::format("{}{} {:.4f}", losses.empty() ? "" : ", ", loss.network(), loss.loss());
  }
  return fmt::format("run     {}, start {}\nphase   {}\ndone    {}\nlosses  {}\nsaved   {}\n{}",
                     status.run_directory(), status.start(), phase_text(status, program),
                     progress_text(status), losses.empty() ? "none yet" : losses,
                     saved_text(status), workers_text(status));
}

std::string json_line(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  (void)google::protobuf::util::MessageToJsonString(message, &text, options);
  return text;
}

}  // namespace gangway::launch
