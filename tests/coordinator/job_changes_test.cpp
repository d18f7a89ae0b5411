// SPDX-License-Identifier: MIT
#include "coordinator/resume/job_changes.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/file/fingerprint.hpp"
#include "job/schema/key.hpp"
#include "tests/job/job_problems.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

using gangway::testing::spec_of;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Returns the changes from the default job with keys `before` to it with keys `now`.
std::string changes(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  return job_changes(spec_of("", before), spec_of("", now));
}

TEST(JobChanges, NamesWhatCanChangeAWeightWithBothValues) {
  EXPECT_EQ(
      changes({"generator.optimizer.adam.betas=[0, 0.9]"}, {"training.batch=256"}),
      "training.batch 256, was 128; generator.optimizer.adam.betas [0.5, 0.999], was [0, 0.9]");
}

TEST(JobChanges, NamesWhatOnlyOneHas) {
  const std::string text = changes({}, {"numerics.device=cuda"});
  EXPECT_THAT(text, HasSubstr("numerics.order tree, was not there"));
  EXPECT_THAT(changes({"numerics.device=cuda"}, {}), HasSubstr("numerics.order is gone, was tree"));
}

TEST(JobChanges, SaysNothingOfTheLayoutAndOfNothing) {
  EXPECT_EQ(changes({}, {}), "");
  EXPECT_EQ(changes({}, {"layout.data=2", "checkpoint.keep=4", "training.kimg=99"}), "");
}

TEST(JobChanges, NamesTheLengthWhereACosineEndsAtIt) {
  const std::string cosine = "generator.schedule.decay=cosine";
  EXPECT_EQ(changes({cosine}, {cosine, "training.kimg=80"}),
            "training.kimg 80, was 40, where a schedule ends");
}

TEST(JobChanges, IsOneLineHoweverManyThereAre) {
  EXPECT_EQ(
      changes({}, {"model.width=32", "model.latent=64", "model.channels=3", "model.dropout=0.1",
                   "training.seed=1", "training.loss=hinge", "training.batch=256"}),
      "model.width 32, was 64; model.latent 64, was 100; model.channels 3, was 1; "
      "model.dropout 0.1, was 0; data.saturation 0, was not there; and 3 more");
}

TEST(JobChanges, NamesAnotherPrecision) {
  const JobSpec before = spec_of("", {"numerics.precision=bf16"});
  EXPECT_EQ(job_changes(before, spec_of("")), "numerics.precision fp32, was bf16");
  EXPECT_EQ(job_changes(before, before), "");
}

TEST(JobChanges, OfASectionAreThoseOfItsKeys) {
  const JobSpec now = spec_of("", {"model.dropout=0.1", "training.seed=1"});
  EXPECT_EQ(job_changes(spec_of(""), now, "model."), "model.dropout 0.1, was 0");
}

/// Returns values of which at least one is valid for the key and is not its default.
/// @param file  an existing file with a PNG's signature
std::vector<std::string> values_for(const Key& key, const std::string& file) {
  std::vector<std::string> values{"true",
                                  "7",
                                  "2",
                                  "0.25",
                                  "1",
                                  "0.5",
                                  "64",
                                  "10",
                                  "[0.1, 0.2]",
                                  "toy:ring8",
                                  "/tmp/x",
                                  file,
                                  "[blit]",
                                  "[2]",
                                  "[swd]",
                                  "[10, 20]",
                                  "{blit: 0.5}",
                                  "{decay: linear, final_factor: 0.1}",
                                  "{decay: linear, final: 0.25}"};
  std::string word;
  for (const char character : key.allowed + ",") {  // words of a choice
    if (character == ',' || character == ' ') {
      values.push_back(std::exchange(word, {}));
    } else {
      word += character;
    }
  }
  return values;
}

/// Changes `key` alone from `before` to `now`. If that makes another job, its name must be listed.
void expect_named(const Key& key, const JobSpec& before, const JobSpec& now) {
  const std::string named = job_changes(before, now);
  const bool is_another = job_fingerprint(now) != job_fingerprint(before);
  EXPECT_EQ(is_another, !named.empty());
  if (is_another) {
    // Files count by their content, so `key`_hash changes.
    EXPECT_THAT(named, AnyOf(HasSubstr(key.path + " "), HasSubstr(key.path + "_hash ")));
  }
  if (model_fingerprint(now) != model_fingerprint(before)) {
    EXPECT_THAT(job_changes(before, now, "model."), HasSubstr("model."));
  }
}

bool is_right(const std::vector<std::string>& words) {
  try {
    return gangway::testing::problems_of("", words).empty();
  } catch (const ConfigError&) {
    return false;  // the file does not exist
  }
}

constexpr int kEnough = 4;  // tested changes per key; more would only test the parser again

TEST(JobChanges, NamesEachKeyThatMakesAnotherJob) {
  const gangway::testing::ScratchFolder folder;
  const std::string file = folder.write("some.file", "\x89PNG\r\n\x1a\nbytes").string();
  const std::string picture = folder.write("style.png", "\x89PNG\r\n\x1a\n").string();
  const std::string nets = folder.write("nets.py", "class Net: pass\n").string();
  const std::vector<std::vector<std::string>> jobs{
      {},
      {"model.generator=" + nets + ":Net"},
      {"model.discriminator=" + nets + ":Net"},
      {"model.family=mlp", "data.source=toy:ring8"},
      {"numerics.device=cuda"},
      {"model.channels=3"},
      {"generator.schedule.decay=cosine"},
      {"generator.schedule.decay=step", "generator.schedule.step_kimg=5"},
      {"generator.schedule.decay=onecycle", "generator.schedule.warmup_kimg=1"},
      {"discriminator.schedule.decay=cosine", "discriminator.schedule.warmup_kimg=1"},
      {"discriminator.schedule.decay=onecycle"},
      {"discriminator.schedule.decay=step", "discriminator.schedule.milestones=[5]"},
      {"generator.schedule.decay=step", "generator.schedule.milestones=[5]"},
      {"training.gradient_penalty=10", "training.r1.gamma=1", "generator.ema_kimg=1"},
      {"training.augment.policy=ada", "training.r1.gamma=1"},
      {"model.family=stylegan2", "model.classes=10"},
      {"model.family=biggan", "model.classes=10"},
      {"training.loss=relativistic"},
      {"training.augment.policy=ada", "training.augment.strength=0.5"},
      {"checkpoint.keep_best=1"},
      {"evaluation.features=" + file},
      {"checkpoint.keep_best=1", "training.plateau.patience=1"},
      {"training.divergence.policy=rollback"},
      {"training.divergence.diversity=0.1"},
      {"training.lecam.weight=0.1"},
      {"model.family=stylegan2", "training.path_length.weight=2"},
      {"training.loss=wasserstein"},
      {"training.recipe=vae"},
      {"model.family=r3gan"},
      {"model.family=gat"},
      {"model.family=biggan", "model.attention=16"},
      {"model.family=biggan", "model.resolution=128"},
      {"model.family=stylegan2"},
      {"model.family=progressive", "model.resolution=64"},
      {"training.recipe=infogan", "model.codes=3"},
      {"training.recipe=vae-gan"},
      {"training.recipe=pix2pix", "model.family=unet", "data.source=edges:fashion-mnist"},
      {"training.recipe=cyclegan", "model.family=cyclegan",
       "data.source=classes:fashion-mnist:5,7"},
      {"training.recipe=style-transfer", "model.family=johnson", "features.weights=" + file,
       "training.style.picture=" + picture, "training.style.content_level=1"},
      {"training.recipe=distill", "teacher.weights=" + file},
      {"generator.weights=" + file, "discriminator.weights=" + file},
      {"discriminator.optimizer.adamw.lr=1e-3"},
      {"generator.initialization=normal", "discriminator.initialization=he"},
      {"generator.initialization=he", "discriminator.initialization=normal"},
      {"output.control_certificate=" + file, "output.control_key=" + file}};
  std::vector<std::string> never_changed;
  for (const Key& key : key_table()) {
    bool is_changed = key.is_variant;
    int tried = 0;
    for (const auto& job : jobs) {
      if (tried >= kEnough || key.is_variant) {
        break;
      }
      const JobSpec before = spec_of("", job);
      for (const std::string& value : values_for(key, file)) {
        std::vector<std::string> words = job;
        words.push_back(key.path + "=" + value);
        if (!is_right(words)) {
          continue;
        }
        const JobSpec now = spec_of("", words);
        is_changed = is_changed || !(now == before);
        tried += job_fingerprint(now) != job_fingerprint(before) ? 1 : 0;
        SCOPED_TRACE(words.back());
        expect_named(key, before, now);
      }
    }
    if (!is_changed) {
      never_changed.push_back(key.path);
    }
  }
  EXPECT_THAT(
      never_changed,
      ::testing::ElementsAre("model.generator_hash", "model.discriminator_hash", "model.library",
                             "model.library_hash", "data.source_hash", "training.step",
                             "training.step_hash", "training.style.picture_hash"))
      << "hashes are those of the files, a library or step has to be one, an axis can only be 1";
}

}  // namespace
}  // namespace gangway::coordinator
