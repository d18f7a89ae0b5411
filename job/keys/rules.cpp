// SPDX-License-Identifier: MIT
#include "job/keys/rules.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/suggestion.hpp"
#include "base/utf8.hpp"
#include "job/choices.hpp"
#include "job/keys/family_texts.hpp"
#include "job/models/families.hpp"
#include "job/transports.hpp"

namespace gangway {
namespace {

constexpr int kFashionMnistLabels = 10;

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool is_toy(const JobSpec& job) { return begins_with(job.data.source, "toy:"); }

std::string check_source(const JobSpec& job) {
  const std::string& source = job.data.source;
  const std::vector<std::string> words = {"fashion-mnist", "toy:ring8", "toy:grid25"};
  const bool is_folder =
      (begins_with(source, "idx:") && source.size() > std::string_view("idx:").size()) ||
      (begins_with(source, "images:") && source.size() > std::string_view("images:").size());
  if (is_folder || std::find(words.begin(), words.end(), source) != words.end()) {
    return {};
  }
  const auto near = nearest_word(source, words);
  return fmt::format(
      "'{}' is no source; expected fashion-mnist, idx:DIR, images:DIR_OR_ZIP, toy:ring8 or "
      "toy:grid25{}",
      shown(source), near ? fmt::format("; did you mean '{}'?", *near) : "");
}

std::string check_family_and_source(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  if (family.makes_points && !is_toy(job)) {
    return fmt::format(
        "family {} learns points, and '{}' has images; use data.source toy:ring8 or toy:grid25, or "
        "another model.family",
        family.name, shown(job.data.source));
  }
  if (family.makes_images() && is_toy(job)) {
    return fmt::format(
        "'{}' has points, and family {} learns images; use model.family {} or another data.source",
        shown(job.data.source), family.name, family_names(" or ", &ModelFamily::makes_points));
  }
  return {};
}

std::string check_resolution(const JobSpec& job) {
  const ModelFamily& family = *job.model.family;
  const std::vector<int>& allowed = family.resolutions;
  if (family.makes_points ||
      std::find(allowed.begin(), allowed.end(), job.model.resolution) != allowed.end()) {
    return {};
  }
  return fmt::format("family {} makes images of {} pixels, not {}{}", family.name,
                     fmt::join(allowed, " or "), job.model.resolution,
                     allowed.size() == 1 ? "; leave model.resolution out" : "");
}

std::string check_channels(const JobSpec& job) {
  return job.model.channels == 2 ? "images have 1 (grey) or 3 (RGB) channels, not 2" : "";
}

std::string check_classes(const JobSpec& job) {
  const int classes = job.model.classes;
  if (job.data.source == "fashion-mnist" && classes != 0 && classes != kFashionMnistLabels) {
    return fmt::format("fashion-mnist has {} labels, not {}; use {}, or 0 to train without labels",
                       kFashionMnistLabels, classes, kFashionMnistLabels);
  }
  return {};
}

std::string check_batch(const JobSpec& job) {
  const auto& training = job.training;
  if (training.batch % training.microbatches == 0) {
    return {};
  }
  const int below = training.batch / training.microbatches * training.microbatches;
  const std::string nearest = below > 0
                                  ? fmt::format("{} or {}", below, below + training.microbatches)
                                  : std::to_string(training.microbatches);
  return fmt::format(
      "training.batch {} cannot be cut into training.microbatches {} equal pieces; use a batch of "
      "{}",
      training.batch, training.microbatches, nearest);
}

std::string check_statistics(const JobSpec& job) {
  if (job.training.batch != job.training.microbatches) {
    return {};
  }
  const Architectures networks = architectures_of(job.model);
  if (!normalizes_dense_layers(networks.generator) &&
      !normalizes_dense_layers(networks.discriminator)) {
    return {};
  }
  return fmt::format(
      "a micro-batch of one example has no batch statistics, which family {} needs here; use fewer "
      "training.microbatches or a larger training.batch",
      job.model.family->name);
}

std::string check_workers(const JobSpec& job) {
  if (job.layout.data <= job.training.microbatches) {
    return {};
  }
  return fmt::format(
      "layout.data {} workers cannot share training.microbatches {}: some would have none; use at "
      "most {} "
      "workers or more micro-batches",
      job.layout.data, job.training.microbatches, job.training.microbatches);
}

std::string check_audit(const JobSpec& job) {
  return job.layout.audit && job.layout.check_steps == 0
             ? "layout.audit is as frequent as layout.check_steps says, which is 0; use 1 or more"
             : "";
}

std::string check_device(const JobSpec& job) {
  const bool on_gpus = job.numerics.device == DeviceKind::kCuda;
  const TransportTraits& transport = traits_of(job.layout.transport);
  if (on_gpus && transport.device == TransportDevice::kCpu) {
    return fmt::format("GPUs talk over nccl, and layout.transport is {}; leave it out, or use nccl",
                       transport.name);
  }
  if (!on_gpus && transport.device == TransportDevice::kGpu) {
    return fmt::format(
        "layout.transport {} is for GPUs; use numerics.device cuda, or another transport",
        transport.name);
  }
  if (on_gpus && job.layout.audit) {
    return "layout.audit recomputes updates on the CPU, and these are made on GPUs; leave it out";
  }
  return {};
}

std::string check_order(const JobSpec& job) {
  const bool clips = job.generator.clip_norm > 0.0 || job.discriminator.clip_norm > 0.0;
  if (job.numerics.order == SumOrder::kTree || (job.numerics.wire == WireSpec{} && !clips)) {
    return {};
  }
  return "numerics.order nccl goes neither with clip_norm nor with another wire than fp32; use "
         "tree";
}

std::string check_axis(const char* what, int size) {
  return size == 1 ? "" : fmt::format("{} above 1 are not available yet; use 1", what);
}

std::string check_step_decay(const ScheduleSpec& schedule, const char* section) {
  const bool is_missing = schedule.decay == DecayKind::kStep && schedule.step_kimg <= 0.0;
  return is_missing ? fmt::format("decay step needs {}.schedule.step_kimg above 0", section) : "";
}

std::vector<Rule> make_rules() {
  return {
      {{"data.source"}, "`data.source` is one of the forms listed.", check_source},
      {{"model.family", "data.source"},
       fmt::format("`model.family` {} goes with toy data, the others with images.",
                   family_names(" and ", &ModelFamily::makes_points)),
       check_family_and_source},
      {{"model.resolution", "model.family"},
       fmt::format("`model.resolution` is {}.", allowed_resolutions()),
       check_resolution},
      {{"model.channels"}, "`model.channels` is 1 or 3.", check_channels},
      {{"model.classes", "data.source"},
       "`model.classes` is 0 or 10 with fashion-mnist.",
       check_classes},
      {{"training.batch", "training.microbatches"},
       "`training.batch` is a multiple of `training.microbatches`.",
       check_batch},
      {{"training.microbatches", "training.batch", "model.family"},
       "A micro-batch has at least 2 examples where dense layers are batch-normalized.",
       check_statistics},
      {{"layout.data", "training.microbatches"},
       "`layout.data` is at most `training.microbatches`.",
       check_workers},
      {{"layout.stages"},
       "`layout.stages` is 1 for now.",
       [](const JobSpec& job) { return check_axis("stages", job.layout.stages); }},
      {{"layout.tensor"},
       "`layout.tensor` is 1 for now.",
       [](const JobSpec& job) { return check_axis("tensor shards", job.layout.tensor); }},
      {{"layout.audit", "layout.check_steps"},
       "`layout.audit` needs `layout.check_steps` above 0.",
       check_audit},
      {{"layout.transport", "numerics.device", "layout.audit"},
       "`numerics.device` cuda goes with `layout.transport` nccl (or auto) and without "
       "`layout.audit`, and nccl with cuda.",
       check_device},
      {{"numerics.order", "numerics.wire", "generator.clip_norm", "discriminator.clip_norm"},
       "`numerics.order` nccl goes with `numerics.wire` fp32 and without clipping.",
       check_order},
      {{"generator.schedule.decay", "generator.schedule.step_kimg"},
       "`generator.schedule.decay` step needs `step_kimg` above 0.",
       [](const JobSpec& job) { return check_step_decay(job.generator.schedule, "generator"); }},
      {{"discriminator.schedule.decay", "discriminator.schedule.step_kimg"},
       "`discriminator.schedule.decay` step needs `step_kimg` above 0.",
       [](const JobSpec& job) {
         return check_step_decay(job.discriminator.schedule, "discriminator");
       }},
  };
}

}  // namespace

const std::vector<Rule>& job_rules() {
  static const std::vector<Rule> rules = make_rules();
  return rules;
}

}  // namespace gangway
