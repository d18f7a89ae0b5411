// SPDX-License-Identifier: MIT
#include "launch/data/followed_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/choices.hpp"
#include "job/data_source.hpp"
#include "job/devices/settle_device.hpp"
#include "launch/data/source_facts.hpp"

namespace gangway::launch {
namespace {

struct Found {
  int channels = 1;
  int classes = 0;
};

std::optional<Found> found_in(const DataSpec& data, const std::optional<JobSpec>& before) {
  if (before && before->data.source == data.source) {
    return Found{.channels = before->model.channels, .classes = before->model.classes};
  }
  const std::optional<SourceFacts> facts = source_facts(data);
  if (!facts) {
    return std::nullopt;
  }
  return Found{.channels = facts->is_gray ? 1 : 3,
               .classes = facts->classes > 1 ? facts->classes : 0};  // one label has no information
}

void settle_device(const std::optional<JobSpec>& before, const std::function<int()>& count_gpus,
                   FollowedData& followed) {
  const int gpus = before ? 0 : count_gpus();
  const DeviceKind device = before     ? before->numerics.device
                            : gpus > 0 ? DeviceKind::kCuda
                                       : DeviceKind::kCpu;
  followed.overrides.push_back(fmt::format("numerics.device={}", name_of(device)));
  followed.device =
      fmt::format("numerics.device auto: {} ({})", name_of(device),
                  before     ? "as when the run was begun"
                  : gpus > 0 ? fmt::format("{} GPU{} here", gpus, gpus == 1 ? "" : "s")
                             : "no GPU that this build can use is here");
}

}  // namespace

FollowedData follow_data(const OpenKeys& open, const std::optional<JobSpec>& before,
                         const std::function<int()>& count_gpus) {
  FollowedData followed;
  if (open.device) {
    settle_device(before, count_gpus, followed);
  }
  const bool is_stacked = open.data.source == kStackedSource;
  if ((!open.channels && !open.classes) || (!is_looked_at(open.data) && !is_stacked)) {
    return followed;
  }
  const std::optional<Found> found = found_in(open.data, before);
  if (!found) {
    followed.unseen = fmt::format(
        "data.source: {} cannot be read on this host, and the job takes {} from it; set "
        "model.channels, 1 or 3, and model.classes, 0 without labels",
        open.data.source, open.channels ? "model.channels" : "model.classes");
    return followed;
  }
  std::vector<std::string> said;
  const auto add = [&](const char* key, int value, int usual) {
    followed.overrides.push_back(fmt::format("{}={}", key, value));
    if (value != usual) {
      said.push_back(fmt::format("{} {}", key, value));
    }
  };
  if (open.channels) {
    add("model.channels", found->channels, ModelSpec{}.channels);
  }
  if (open.classes) {
    add("model.classes", found->classes, ModelSpec{}.classes);
  }
  if (!said.empty()) {
    followed.note =
        fmt::format("{}: taken from the pictures of data.source {}; the job leaves it open",
                    fmt::join(said, ", "), open.data.source);
  }
  return followed;
}

ResolvedJob load_followed(const JobSources& sources) {
  ResolvedJob job =
      load_job(sources, [](const OpenKeys& open) { return follow_data(open).overrides; });
  if (has_open_numbers(job.spec)) {
    (void)settle_numbers(job.spec, std::nullopt, facts_of_device(job.spec.numerics.device));
    job.yaml = to_yaml(job.spec);
  }
  return job;
}

}  // namespace gangway::launch
