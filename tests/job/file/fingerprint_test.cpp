// SPDX-License-Identifier: MIT
#include "job/file/fingerprint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using testing::spec_of;

std::string fingerprint_with(const std::string& override_text) {
  return job_fingerprint(spec_of("", {override_text}));
}

TEST(Fingerprint, IsThirtyTwoHexadecimalDigits) {
  const std::string fingerprint = job_fingerprint(spec_of(""));
  EXPECT_EQ(fingerprint.size(), 32U);
  EXPECT_EQ(fingerprint.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(fingerprint, job_fingerprint(spec_of("# another text\ntraining: {seed: 0}")));
}

/// Checkpoints of earlier releases carry this fingerprint. Newer keys do not count while they have
/// their defaults.
TEST(Fingerprint, OfTheDefaultJobIsThatOfEarlierReleases) {
  EXPECT_EQ(job_fingerprint(spec_of("")), "93cb34099da8639faed20fba9e41c367");
  EXPECT_EQ(fingerprint_with("generator.weights=none"), job_fingerprint(spec_of("")));
  EXPECT_EQ(fingerprint_with("numerics.precision=fp32"), job_fingerprint(spec_of("")));
}

TEST(Fingerprint, StaysWhereOnlySpeedChanges) {
  const std::string fingerprint = job_fingerprint(spec_of(""));
  for (const char* same : {"layout.data=2",
                           "layout.transport=mpi",
                           "layout.timeout_seconds=5",
                           "checkpoint.every_kimg=1",
                           "checkpoint.keep=9",
                           "checkpoint.every_steps=5",
                           "checkpoint.every_seconds=5",
                           "checkpoint.keep_every=5",
                           "checkpoint.keep_best=5",
                           "checkpoint.snapshot_steps=5",
                           "output.tick_kimg=3",
                           "training.divergence.policy=rollback",
                           "training.divergence.gradient_norm=5",
                           "training.divergence.diversity=0.1",
                           "training.plateau.patience=0",
                           "output.grid=2",
                           "output.histograms_kimg=5",
                           "output.http=off",
                           "output.http_plain=true",
                           "training.kimg=99",
                           "data.prefetch=9",
                           "data.threads=2",
                           "data.cache=20G"}) {
    EXPECT_EQ(fingerprint_with(same), fingerprint) << same;
  }
  EXPECT_EQ(job_fingerprint(spec_of(
                "", {"checkpoint.keep_best=5", "checkpoint.score_samples=500",
                     "training.divergence.policy=rollback", "training.divergence.retries=5"})),
            fingerprint);
}

TEST(Fingerprint, ChangesWithEverythingElse) {
  const std::string fingerprint = job_fingerprint(spec_of(""));
  for (const char* other : {"model.width=32",
                            "data.mirror=true",
                            "data.source=idx:/x",
                            "training.seed=1",
                            "training.microbatches=4",
                            "training.r2.gamma=1",
                            "training.batch=64",
                            "training.loss=hinge",
                            "generator.optimizer.adamw.lr=2e-4",
                            "generator.ema_kimg=1",
                            "discriminator.steps=2",
                            "generator.clip_norm=1",
                            "generator.weights=old.safetensors",
                            "discriminator.weights=old.safetensors",
                            "numerics.threads=2",
                            "numerics.memory_format=contiguous",
                            "numerics.wire=bf16",
                            "numerics.wire={generator: fp16}",
                            "numerics.precision=bf16",
                            "numerics.precision={generator: fp16}",
                            "data.limit=1000",
                            "data.crop=0.9",
                            "data.zoom=1.2",
                            "data.rotation=10",
                            "data.brightness=0.1",
                            "data.contrast=0.1"}) {
    EXPECT_NE(fingerprint_with(other), fingerprint) << other;
  }
}

TEST(Fingerprint, CountsWhatBecomesOfPicturesWhereItIsOn) {
  EXPECT_EQ(job_fingerprint(spec_of("data: {limit: 0, crop: 1, zoom: 1, rotation: 0, brightness: "
                                    "0, contrast: 0}")),
            job_fingerprint(spec_of("")));
  const auto colourful = [](const std::string& more) {
    return job_fingerprint(spec_of("model: {channels: 3}\ndata: {" + more + "}"));
  };
  EXPECT_NE(colourful("saturation: 0.1"), colourful("saturation: 0"));
  const auto paired = [](const std::string& way) {
    return job_fingerprint(
        spec_of("model: {family: unet}\ntraining: {recipe: pix2pix}\n"
                "data: {source: 'edges:fashion-mnist', direction: " +
                way + "}"));
  };
  EXPECT_NE(paired("b-to-a"), paired("a-to-b"));
}

TEST(Fingerprint, CountsResidualBlocksWhereTheyAreNotTheUsualOnes) {
  const auto with = [](const std::string& more) {
    return job_fingerprint(spec_of("model: {family: r3gan" + more + "}"));
  };
  EXPECT_EQ(with(", blocks: 2"), with(""));
  EXPECT_NE(with(", blocks: 3"), with(""));
}

TEST(Fingerprint, CountsPatchesWhereTheyAreNotTheUsualOnes) {
  const auto with = [](const std::string& more) {
    return job_fingerprint(spec_of("model: {family: gat" + more + "}"));
  };
  EXPECT_EQ(with(", patch: 4"), with(""));
  EXPECT_NE(with(", patch: 2"), with(""));
}

TEST(Fingerprint, CountsAttentionAndOrthogonalRegularisationWhereThereAreSome) {
  const auto with = [](const std::string& key) {
    return job_fingerprint(spec_of("model: {family: biggan}", {key}));
  };
  const std::string without = job_fingerprint(spec_of("model: {family: biggan}"));
  EXPECT_EQ(with("model.attention=0"), without);
  EXPECT_NE(with("model.attention=16"), without);
  EXPECT_EQ(with("training.orthogonal_weight=0"), without);
  EXPECT_NE(with("training.orthogonal_weight=1e-4"), without);
}

TEST(Fingerprint, CountsStylesAndPathLengthsWhereTheyAreNotTheUsualOnes) {
  const auto with = [](const std::vector<std::string>& words) {
    return job_fingerprint(spec_of("model: {family: stylegan2}", words));
  };
  EXPECT_EQ(with({"model.mapping_layers=8", "model.style_mixing=0.9", "model.stored_noise=false",
                  "training.path_length.weight=0", "training.path_length.interval=4"}),
            with({}));
  for (const char* other : {"model.mapping_layers=2", "model.style_mixing=0",
                            "model.stored_noise=true", "training.path_length.weight=2"}) {
    EXPECT_NE(with({other}), with({})) << other;
  }
  EXPECT_NE(with({"training.path_length.weight=2", "training.path_length.interval=1"}),
            with({"training.path_length.weight=2"}));
}

TEST(Fingerprint, CountsTheGrowthWhereItIsNotTheUsualOne) {
  const auto with = [](const std::string& growth) {
    return job_fingerprint(
        spec_of("model: {family: progressive}\ntraining: {growth: {" + growth + "}}"));
  };
  EXPECT_EQ(with("from: 4, kimg: 5, fade_kimg: 5"), with(""));
  EXPECT_NE(with("from: 8"), with(""));
  EXPECT_NE(with("kimg: 6"), with(""));
  EXPECT_NE(with("fade_kimg: 6"), with(""));
}

TEST(Fingerprint, CountsTheLengthWhereACosineEndsAtIt) {
  for (const std::string section : {"generator", "discriminator"}) {
    const std::string cosine = section + ".schedule.decay=cosine";
    EXPECT_NE(job_fingerprint(spec_of("", {cosine})),
              job_fingerprint(spec_of("", {cosine, "training.kimg=99"})));
  }
}

TEST(Fingerprint, CountsTheLengthWhereSomethingComesToItsFinalValueThere) {
  for (const std::string key :
       {"training.r1.final_factor=0.1", "generator.schedule.final_beta2=0.9"}) {
    const auto with = [&key](std::vector<std::string> words) {
      words.insert(words.end(), {key, "training.r1.gamma=1"});
      return job_fingerprint(spec_of("", words));
    };
    EXPECT_NE(with({}), with({"training.kimg=99"}));
    EXPECT_EQ(with({"training.burn_in_kimg=7"}),
              with({"training.burn_in_kimg=7", "training.kimg=99"}));
  }
}

TEST(Fingerprint, OfTheModelKnowsTheModelAlone) {
  const std::string model = model_fingerprint(spec_of(""));
  EXPECT_EQ(model_fingerprint(spec_of("", {"training.seed=5", "numerics.threads=2"})), model);
  EXPECT_NE(model_fingerprint(spec_of("", {"model.latent=64"})), model);
}

TEST(Fingerprint, WritesTheNumericsInOneLine) {
  EXPECT_EQ(numerics_text(spec_of("")),
            "threads=1 memory_format=channels-last wire=fp32 device=cpu");
  EXPECT_EQ(numerics_text(spec_of("", {"numerics.wire={generator: bf16}"})),
            "threads=1 memory_format=channels-last wire={generator: bf16, discriminator: fp32} "
            "device=cpu inexact=wire");
  EXPECT_EQ(numerics_text(spec_of("", {"numerics.precision=bf16"})),
            "threads=1 memory_format=channels-last wire=fp32 precision=bf16 device=cpu");
  EXPECT_EQ(numerics_text(spec_of("", {"numerics.precision=fp32"})), numerics_text(spec_of("")));
  EXPECT_EQ(numerics_text(spec_of("", {"numerics.device=cuda"})),
            "threads=1 memory_format=contiguous wire=fp32 device=cuda order=tree "
            "kernels=deterministic");
}

TEST(Fingerprint, CountsThePrecisionOfPenaltiesUnlessItIsAuto) {
  const auto with = [](const std::vector<std::string>& more) {
    return spec_of("training: {r1: {gamma: 1}}", more);
  };
  EXPECT_EQ(job_fingerprint(with({"numerics.penalties=auto"})), job_fingerprint(with({})));
  for (const char* one : {"numerics.penalties=fp32", "numerics.penalties=bf16"}) {
    EXPECT_NE(job_fingerprint(with({one})), job_fingerprint(with({}))) << one;
  }
  EXPECT_EQ(numerics_text(with({"numerics.penalties=auto"})), numerics_text(with({})));
  EXPECT_EQ(numerics_text(with({"numerics.penalties=bf16"})),
            "threads=1 memory_format=channels-last wire=fp32 penalties=bf16 device=cpu");
}

TEST(Fingerprint, SaysWhatMakesAJobInexact) {
  EXPECT_EQ(declared_inexactness(spec_of("")), "");
  EXPECT_EQ(declared_inexactness(spec_of("", {"numerics.precision=bf16"})), "");
  EXPECT_EQ(declared_inexactness(spec_of("", {"numerics.wire=fp16"})),
            "inexact, as declared by numerics.wire=fp16: what travels between hosts is rounded, so "
            "the digest depends on the layout");
  EXPECT_THAT(declared_inexactness(spec_of("", {"numerics.device=cuda", "numerics.order=nccl"})),
              ::testing::StartsWith("inexact, as declared by numerics.order=nccl: "));
  EXPECT_THAT(
      declared_inexactness(spec_of("", {"numerics.device=cuda", "numerics.kernels=fastest"})),
      ::testing::StartsWith("inexact, as declared by numerics.kernels=fastest: "));
}

TEST(Fingerprint, IsTheSameWhereProcessorsMayBeMixedAndTheNumericsSayThatTheyMay) {
  const JobSpec plain = spec_of("");
  const JobSpec mixed = spec_of("", {"numerics.mixed_processors=allow"});
  EXPECT_EQ(job_fingerprint(mixed), job_fingerprint(plain));
  EXPECT_EQ(numerics_text(mixed), numerics_text(plain) + " inexact=processors");
  EXPECT_EQ(declared_inexactness(mixed),
            "inexact, as declared by numerics.mixed_processors=allow: workers may compute "
            "different bits, so the digest depends on each worker's work");
}

TEST(Fingerprint, IsTheSameWithAndWithoutRecordedSteps) {
  const JobSpec plain = spec_of("", {"numerics.device=cuda", "numerics.cuda_graph=off"});
  for (const char* const choice : {"auto", "on", "overlap", "branches"}) {
    const JobSpec recorded =
        spec_of("", {"numerics.device=cuda", std::string("numerics.cuda_graph=") + choice});
    EXPECT_EQ(job_fingerprint(recorded), job_fingerprint(plain));
    EXPECT_EQ(numerics_text(recorded), numerics_text(plain));
  }
}

}  // namespace
}  // namespace gangway
