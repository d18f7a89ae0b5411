// SPDX-License-Identifier: MIT
#include "launch/init/job_advice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "launch/init/templates.hpp"

namespace gangway::launch {
namespace {

/// "1 minute", "0.5 minutes".
std::string minutes_text(double minutes) {
  return fmt::format("{:g} minute{}", minutes, minutes == 1.0 ? "" : "s");
}

constexpr int kSmall = 32;  // pixels: what dcgan has
constexpr int kLarge = 64;
/// With fewer pictures the discriminator learns them by heart (docs/augmentation.md).
constexpr std::int64_t kEnoughPictures = 20'000;
/// With fewer of a label its pictures are those of all others.
constexpr std::int64_t kEnoughOfALabel = 50;
constexpr int kMostLabels = 100;
constexpr int kWidth = 32;
constexpr int kNarrow = 16;
constexpr int kWide = 64;
/// Of the time, beside start, pictures and checkpoints; a machine does other things, too.
constexpr double kShareOfTime = 0.85;
/// Beyond this nothing of such networks gets better.
constexpr double kMostKimg = 25'000.0;

/// Thousand pictures after which something can be told (docs/init-job.md).
double kimg_to_see(int resolution) { return resolution <= kSmall ? 40.0 : 100.0; }

constexpr double kSecondsAMinute = 60.0;

double kimg_in(const JobWishes& wishes, double images_per_second) {
  return images_per_second * wishes.minutes * kSecondsAMinute * kShareOfTime / 1000.0;
}

/// Two digits of it, never more.
double rounded_down(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1.0);
  return std::max(1.0, std::floor(value / unit + 1e-6) * unit);
}

std::string thousands(std::int64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3; at -= 3) {
    text.insert(at - 3, ",");
  }
  return text;
}

void choose_labels(const PictureFacts& facts, JobAdvice& advice) {
  if (facts.by_label.size() < 2) {
    return;
  }
  const std::int64_t fewest = *std::ranges::min_element(facts.by_label);
  const auto labels = static_cast<int>(facts.by_label.size());
  if (labels > kMostLabels || fewest < kEnoughOfALabel) {
    advice.notes.push_back(fmt::format(
        "trains without its {} labels: the smallest has {} pictures, and a label wants {} at least "
        "(model.classes={} trains with them)",
        labels, fewest, kEnoughOfALabel, labels));
    return;
  }
  advice.classes = labels;
}

std::string classes_why(const JobAdvice& advice, const PictureFacts& facts) {
  if (advice.classes == 0) {
    return facts.by_label.size() < 2
               ? "no labels: all pictures lie in one folder; sub-folders would be labels"
               : "without its labels, some of which have too few pictures";
  }
  return fmt::format("sub-folders or dataset.json; the smallest has {} pictures",
                     thousands(*std::ranges::min_element(facts.by_label)));
}

std::string width_why(int width) {
  return width > kWidth ? "channels next to the picture; the time allows twice as many as usual"
         : width < kWidth
             ? "channels next to the picture; few, as the time is short"
             : "channels next to the picture; 64 draws better, and takes 3 times as long";
}

std::string augment_text(const JobAdvice& advice) {
  if (!advice.augments) {
    return "{policy: none}  # as many pictures as these need none";
  }
  return advice.is_trial
             ? "{policy: ada, strength: 0.3}"
             : "{policy: ada, kimg: 100}  # fewer than 20,000: else they are learnt by heart";
}

/// `gangway evaluate` compares two halves of the pictures.
constexpr std::int64_t kEnoughForAScore = 200;
/// Of a whole training: each takes a core some 10 seconds beside it.
constexpr double kScores = 5.0;

std::string evaluation_text(const JobAdvice& advice, const PictureFacts& facts) {
  return facts.pictures < kEnoughForAScore
             ? fmt::format("{{every_kimg: 0}}  # no score: {} pictures at least are needed for one",
                           kEnoughForAScore)
             : fmt::format(
                   "{{every_kimg: {:g}, metrics: [swd], images: 2048}}  # lower is better; "
                   "it sees colours and needs no network",
                   rounded_down(std::max(1.0, advice.kimg / kScores)));
}

std::string plain(double value) { return fmt::format("{:g}", value); }

/// As YAML reads it, whatever is in it.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace

JobAdvice advise(const PictureFacts& facts, const JobWishes& wishes) {
  if (wishes.resolution && *wishes.resolution != kSmall && *wishes.resolution != kLarge) {
    throw ConfigError(fmt::format(
        "--resolution {}: a first job has {} or {} pixels; for more begin with a published recipe, "
        "as --recipe r3gan-ffhq256",
        *wishes.resolution, kSmall, kLarge));
  }
  constexpr int kWorthIt = 48;  // pixels: below, twice the side shows nothing more
  JobAdvice advice{
      .resolution = wishes.resolution.value_or(facts.side >= kWorthIt ? kLarge : kSmall),
      .width = kWidth,
      .augments = facts.pictures < kEnoughPictures};
  advice.microbatches =
      std::max(2, static_cast<int>(std::bit_ceil(static_cast<unsigned>(wishes.workers))));
  if (advice.microbatches > kAdvisedBatch) {
    throw ConfigError(fmt::format("--workers {}: a batch of {} pictures has work for {}",
                                  wishes.workers, kAdvisedBatch, kAdvisedBatch));
  }
  constexpr std::int64_t kFew = 500;
  if (facts.pictures < kFew) {
    advice.notes.push_back(fmt::format(
        "{} pictures are few: expect variations of them; some thousand make a difference",
        facts.pictures));
  }
  choose_labels(facts, advice);
  set_length(advice, wishes, 0.0);
  return advice;
}

std::optional<int> other_width(const JobAdvice& advice, const JobWishes& wishes,
                               double images_per_second, double trial_seconds) {
  constexpr double kMostOfTime = 0.25;
  if (trial_seconds > kMostOfTime * kSecondsAMinute * wishes.minutes) {
    return std::nullopt;
  }
  const double kimg = kimg_in(wishes, images_per_second);
  const double wanted = kimg_to_see(advice.resolution);
  constexpr double kPlenty = 12.0;
  if (advice.width == kWidth && kimg > kPlenty * wanted) {
    return kWide;
  }
  if (advice.width == kWidth && kimg < wanted) {
    return kNarrow;
  }
  return std::nullopt;
}

void set_length(JobAdvice& advice, const JobWishes& wishes, double images_per_second) {
  const double wanted = kimg_to_see(advice.resolution);
  if (images_per_second <= 0.0) {  // nobody has tried
    advice.kimg = 4.0 * wanted;
    advice.trial = "No trial was made: training.kimg is a guess.";
    return;
  }
  const double kimg = std::min(kMostKimg, kimg_in(wishes, images_per_second));
  advice.kimg = rounded_down(std::max(1.0, kimg));
  advice.trial = fmt::format(
      "A trial here: {:.0f} pictures a second with {} worker{} and width {}; some {:g} thousand in "
      "{}.",
      images_per_second, wishes.workers, wishes.workers == 1 ? "" : "s", advice.width, advice.kimg,
      minutes_text(wishes.minutes));
  if (kimg < wanted) {
    advice.notes.push_back(fmt::format(
        "little can be seen of {} pixels after {} here: shapes can be told after some {:.0f} "
        "minutes{}",
        advice.resolution, minutes_text(wishes.minutes), std::ceil(wishes.minutes * wanted / kimg),
        advice.resolution > kSmall ? ", or sooner with --resolution 32" : ""));
  }
}

std::string guess_note(const JobAdvice& advice, const JobWishes& wishes) {
  // In colour, augmented, width 32 (docs/init-job.md); at 32 pixels four times as many as at 64.
  const double images_per_second = advice.resolution <= kSmall ? 800.0 : 200.0;
  return fmt::format(
      "training.kimg={:g} is a guess, for no trial was made: on two quiet cores it takes some "
      "{:.0f} "
      "minutes, whatever --minutes says ({:g}); without --no-trial it follows from them",
      advice.kimg, std::ceil(advice.kimg * 1000.0 / images_per_second / kSecondsAMinute),
      wishes.minutes);
}

std::string with_source(std::string_view recipe, const std::string& source) {
  const std::size_t data = recipe.find("\ndata:");
  const std::size_t path = recipe.find(":PATH", data);
  if (data == std::string_view::npos || path == std::string_view::npos) {
    throw InvariantError("a published recipe has no place for pictures; please report this");
  }
  const std::size_t form = recipe.find_last_of(' ', path) + 1;
  std::string text(recipe.substr(0, form));
  text += quoted(std::string(recipe.substr(form, path + 1 - form)) + source);
  return text.append(recipe.substr(path + std::string_view(":PATH").size()));
}

std::string job_text(const JobAdvice& advice, const PictureFacts& facts, const JobWishes& wishes,
                     const std::string& file, const std::string& command) {
  const std::map<std::string, std::string> values{
      {"SOURCE_TEXT",
       fmt::format("the {} pictures of {}", thousands(facts.pictures), facts.source)},
      {"FILE", file},
      {"WORKERS", std::to_string(wishes.workers)},
      {"COMMAND", command},
      {"TRIAL", advice.trial},
      {"RESOLUTION", std::to_string(advice.resolution)},
      {"RESOLUTION_WHY",
       fmt::format("or {}; the pictures have {} pixels on their shorter side (median)",
                   advice.resolution == kSmall ? kLarge : kSmall, facts.side)},
      {"CHANNELS", facts.is_gray ? "1" : "3"},
      {"CHANNELS_WHY", facts.is_gray ? "all are grey" : "colour"},
      {"WIDTH", std::to_string(advice.width)},
      {"WIDTH_WHY", width_why(advice.width)},
      {"CLASSES", std::to_string(advice.classes)},
      {"CLASSES_WHY", classes_why(advice, facts)},
      {"SOURCE", quoted("images:" + facts.source)},
      {"KIMG", plain(advice.kimg)},
      {"KIMG_WHY", fmt::format("each {:.0f} times; shapes can be told after some {:g}",
                               std::max(1.0, advice.kimg * 1000.0 /
                                                 static_cast<double>(
                                                     std::max<std::int64_t>(1, facts.pictures))),
                               kimg_to_see(advice.resolution))},
      {"MICROBATCHES", std::to_string(advice.microbatches)},
      {"AUGMENT", augment_text(advice)},
      {"BETAS", advice.augments ? "[0, 0.99]" : "[0.5, 0.999]"},
      {"EMA", advice.augments ? "50" : "1000"},
      {"CHECKPOINT_KIMG", plain(rounded_down(std::max(1.0, advice.kimg / 10.0)))},
      {"KEEP_BEST", facts.pictures < kEnoughForAScore ? "0" : "1"},
      {"EVALUATION", evaluation_text(advice, facts)},
      {"PICTURES_KIMG", plain(rounded_down(std::max(1.0, advice.kimg / 25.0)))},
      {"TICK_KIMG", plain(rounded_down(std::max(1.0, advice.kimg / 100.0)))},
      {"GRID", std::to_string(std::clamp(advice.classes, 8, 16))},
      {"DEVICE", wishes.has_gpu ? "cuda" : "cpu"}};
  return fill_template(job_template(), values);
}

}  // namespace gangway::launch
