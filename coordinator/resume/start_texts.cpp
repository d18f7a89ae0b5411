// SPDX-License-Identifier: MIT
#include "coordinator/resume/start_texts.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text/aligned_text.hpp"
#include "coordinator/resume/equal_data.hpp"
#include "job/families/families.hpp"
#include "job/file/fingerprint.hpp"
#include "job/number_changes.hpp"
#include "report/table.hpp"

namespace gangway::coordinator {

std::string describe_model(const ModelSpec& model) {
  if (model.family->makes_points) {
    return fmt::format("{}, width {}, latent {}, {} classes", model.family->name, model.width,
                       model.latent, model.classes);
  }
  if (model.family == own_family()) {
    return fmt::format("the user's networks, {} pixels, latent {}, {} channel{}, {} classes",
                       model.resolution, model.latent, model.channels,
                       model.channels == 1 ? "" : "s", model.classes);
  }
  return fmt::format("{}, {} pixels, width {}, latent {}, {} channel{}, {} classes",
                     model.family->name, model.resolution, model.width, model.latent,
                     model.channels, model.channels == 1 ? "" : "s", model.classes);
}

std::string parameter_counts(const JobSpec& job, const messages::Ready& ready) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ready.parameters.size(), job.networks.size()); ++i) {
    text +=
        fmt::format("{}{} {}{}", i == 0 ? "" : ", ", job.networks[static_cast<NetworkId>(i)].name,
                    ready.parameters[i], i == 0 ? " parameters" : "");
  }
  return text;
}

std::string placement_table(const std::vector<PlacedRank>& ranks) {
  report::Table table({{.title = "rank", .align = Align::kRight},
                       {.title = "host"},
                       {.title = "device"},
                       {.title = "role"},
                       {.title = "micro-batches"},
                       {.title = "pid", .align = Align::kRight}});
  for (const PlacedRank& rank : ranks) {
    const bool works = rank.microbatches.size() > 0;
    table.add_row(
        {fmt::to_string(rank.rank), rank.host, rank.device.empty() ? "-" : rank.device,
         rank.networks.empty() ? rank.role : rank.networks,
         works ? fmt::format("{}-{}", rank.microbatches.begin, rank.microbatches.end - 1) : "-",
         std::to_string(rank.pid)});
  }
  std::string text = table.text();
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

std::optional<StateBefore> state_before(const StartedRun& run, std::int64_t step) {
  if (run.resume && (run.resume->step == step || run.start.software.empty())) {
    return StateBefore{.manifest = run.resume->manifest, .since = "the checkpoint was saved"};
  }
  if (step == 0) {
    return std::nullopt;
  }
  StateBefore before{.manifest = {}, .since = "the run last started"};
  before.manifest.step = step;
  before.manifest.job_fingerprint = job_fingerprint(run.spec);  // others' snapshots are not read
  before.manifest.data_fingerprint = run.start.data_fingerprint;
  before.manifest.created = run.start.data_read;
  before.manifest.software = run.start.software;
  return before;
}

Software software_now(const messages::Ready& ready, const std::optional<StateBefore>& before) {
  Software software = software_of(ready.arithmetic);
  software.emplace("gangway", GANGWAY_VERSION);
  software.emplace("libtorch", ready.libtorch);
  software.emplace(kNumbersRevisionName, std::to_string(kNumbersRevision));
  if (before) {
    keep_arithmetic_changes(before->manifest.software, before->manifest.step, software);
  }
  return software;
}

std::vector<std::string> change_warnings(const StateBefore& before, const Software& software,
                                         const messages::Ready& ready, const JobSpec& job) {
  const Software& then = before.manifest.software;
  std::vector<std::string> lines;
  if (std::string line = data_warning(before.manifest, ready, before.since);
      !before.manifest.data_fingerprint.empty() && !line.empty()) {
    lines.push_back(std::move(line));
  }
  if (then.empty()) {
    return lines;  // written by an older version
  }
  for (const std::string_view change : number_changes_since(then, job)) {
    lines.push_back(
        fmt::format("warn  Gangway's numbers have changed since {}: {} "
                    "(docs/numerics.md)",
                    before.since, change));
  }
  const bool is_same_job = before.manifest.job_fingerprint == job_fingerprint(job);
  std::string arithmetic = arithmetic_warning(then, software, is_same_job);
  for (const auto& [name, version] : then) {
    const auto now = software.find(name);
    const bool is_told = name == "libtorch" && !arithmetic.empty();  // the arithmetic names it too
    if (name != kNumbersRevisionName && !is_told && !is_arithmetic(name) && now != software.end() &&
        now->second != version) {
      lines.push_back(
          fmt::format("warn  {} was {} when {} and is {} now: the numbers may differ from here on",
                      name, version, before.since, now->second));
    }
  }
  if (!arithmetic.empty()) {
    lines.push_back(std::move(arithmetic));
  }
  return lines;
}

}  // namespace gangway::coordinator
