// SPDX-License-Identifier: MIT
#include "tests/fidelity/small_jobs.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>

#include "gan/pictures/png.hpp"
#include "gan/random.hpp"
#include "job/families/families.hpp"
#include "tests/fidelity/published_jobs.hpp"
#include "tests/named_rows.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::fidelity {
namespace {

constexpr std::uint32_t kImages = 64;
constexpr std::uint32_t kSide = 28;

void write_number(std::ofstream& file, std::uint32_t value) {  // IDX is big-endian
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    file.put(static_cast<char>((value >> shift) & 0xFFU));
  }
}

using AddJob =
    std::function<NamedJob&(const std::string& name, const std::function<void(JobSpec&)>& change)>;

void add_optimizers_and_regularisers(const AddJob& add) {
  add("RmspropAndSgdWithMomentumClipped", [](JobSpec& job) {
    job.network("generator").optimizer = {.kind = OptimizerKind::kRmsprop, .momentum = 0.5};
    job.network("generator").initialization = {.kind = InitializationKind::kHe};
    job.network("discriminator").optimizer = {
        .kind = OptimizerKind::kSgd, .weight_decay = 1e-3, .momentum = 0.9};
    job.network("discriminator").clip_norm = 0.05;
    job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
    job.model.activation = Activation::kSoftplus;
  }).steps = 3;
  add("LionLecamNoisyLabels", [](JobSpec& job) {
    for (NetworkSpec& network : job.networks) {
      network.optimizer = row_of(OptimizerKind::kLion).defaults;
    }
    job.network("discriminator").initialization = {.kind = InitializationKind::kOrthogonal};
    job.network("discriminator").steps = 2;
    job.training.labels = {.smoothing = 0.1, .noise = 0.25};
    job.training.lecam = {.weight = 0.3, .decay = 0.9};
    job.training.orthogonal_weight = 1e-3;
  });
}

void add_losses_and_penalties(const AddJob& add) {
  add("WassersteinGradientPenaltyTwoSteps", [](JobSpec& job) {
    job.training.loss = LossKind::kWasserstein;
    job.training.penalty.gradient_penalty = 10.0;
    job.network("discriminator").steps = 2;
  });
  add("R1EveryStepSoftplusBatchNorm", [](JobSpec& job) {
    job.training.penalty.r1_gamma = 2.0;
    job.model.activation = Activation::kSoftplus;
    job.model.normalization = Normalization::kBatch;
  });
  add("R1EveryFourSteps", [](JobSpec& job) {
    job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 4};
    job.model.activation = Activation::kSoftplus;
  }).steps = 5;
  add("Relativistic", [](JobSpec& job) { job.training.loss = LossKind::kRelativistic; });
  add("RelativisticR1R2Labelled", [](JobSpec& job) {
    job.training.loss = LossKind::kRelativistic;
    job.training.penalty = {.r1_gamma = 2.0, .r2_gamma = 1.0};
    job.model.activation = Activation::kSoftplus;
    job.model.classes = 10;
  });
  add("LeastSquares", [](JobSpec& job) { job.training.loss = LossKind::kLeastSquares; });
  add("Hinge", [](JobSpec& job) { job.training.loss = LossKind::kHinge; });
  add("R3ganBf16R1R2Bf16", [](JobSpec& job) {
    job.model = {.family = family_named("r3gan"), .width = 8, .blocks = 1, .latent = 8};
    job.training.batch = 8;
    job.training.loss = LossKind::kRelativistic;
    job.training.penalty = {.r1_gamma = 2.0, .r2_gamma = 1.0};
    for (NetworkSpec& network : job.networks) {
      network.precision = Precision::kBf16;
    }
    job.numerics.penalties = Precision::kBf16;
  });
  add("Stylegan2R1PathLengthsBf16", [](JobSpec& job) {
    job.model = {.family = family_named("stylegan2"), .width = 2, .latent = 8, .mapping_layers = 2};
    job.training.batch = 8;
    job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
    job.training.path_length = {.weight = 2.0, .interval = 2};
    job.numerics.penalties = Precision::kBf16;
  }).steps = 3;
}

/// Adds jobs with networks that are never trained.
void add_frozen(std::vector<NamedJob>& jobs, const std::filesystem::path& folder) {
  jobs.push_back({.name = "VaeGanFrozenTrunk",
                  .job = small_job_of(*recipe_named("vae-gan"), family_named("dcgan"), folder)});
  jobs.back().job.network("trunk").is_frozen = true;
  jobs.push_back({.name = "StyleTransferClipped", .job = small_style_transfer(folder)});
  jobs.back().job.network("generator").clip_norm = 0.5;
  jobs.push_back({.name = "DistillDcganLabelledReusedFakes",
                  .job = small_distillation(family_named("dcgan"), folder)});
  jobs.back().job.model.classes = 10;
  jobs.back().job.training.reuse_fakes = true;
  jobs.push_back(
      {.name = "DistillR3ganClipped", .job = small_distillation(family_named("r3gan"), folder)});
  jobs.back().job.network("trunk").clip_norm = 0.5;
}

/// Writes a coloured picture that is not square.
void write_style_picture(const std::filesystem::path& file) {
  pictures::Raster picture{.height = 40, .width = 50, .channels = 3, .pixels = {}};
  const KeyedRandom random(RandomKey{.seed = 18});
  for (std::uint64_t i = 0; i < 40 * 50 * 3; ++i) {
    picture.pixels.push_back(static_cast<std::uint8_t>(random.bits(i) & 0xFFU));
  }
  pictures::write_png(file, picture);
}

}  // namespace

void write_tiny_images(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_style_picture(folder / "style.png");
  const KeyedRandom random(RandomKey{.seed = 17});
  std::ofstream images(folder / "train-images-idx3-ubyte", std::ios::binary);
  for (const std::uint32_t number : {0x803U, kImages, kSide, kSide}) {
    write_number(images, number);
  }
  for (std::uint32_t i = 0; i < kImages * kSide * kSide; ++i) {
    images.put(static_cast<char>(random.bits(i) & 0xFFU));
  }
  std::ofstream labels(folder / "train-labels-idx1-ubyte", std::ios::binary);
  write_number(labels, 0x801U);
  write_number(labels, kImages);
  for (std::uint32_t i = 0; i < kImages; ++i) {
    labels.put(static_cast<char>(i % 10));
  }
}

const std::filesystem::path& tiny_images() {
  static const testing::ScratchFolder scratch;
  static const std::filesystem::path folder = [] {
    write_tiny_images(scratch.path() / "images");
    return scratch.path() / "images";
  }();
  return folder;
}

JobSpec small_dcgan(const std::filesystem::path& folder) {
  JobSpec job;
  job.model = {.width = 16, .latent = 16};
  job.data.source = "idx:" + folder.string();
  job.training.kimg = 0.5;
  job.training.batch = 16;
  job.training.microbatches = 4;
  job.training.seed = 7;
  job.network("generator").ema_kimg = 0.05;
  job.output.grid = 1;
  return job;
}

JobSpec small_mlp() {
  JobSpec job = small_dcgan("");
  job.model = {.family = family_named("mlp"), .width = 96, .latent = 4};
  job.data.source = "toy:ring8";
  job.training.batch = 32;
  return job;
}

JobSpec adaptive_dcgan(const std::filesystem::path& folder) {
  JobSpec job = small_dcgan(folder);
  job.training.augment = {.policy = AugmentPolicy::kAda,
                          .chosen = available_kinds(AugmentPolicy::kAda),
                          .target = -2.0,  // p rises for any real pictures
                          .kimg = 0.2};
  return job;
}

JobSpec small_progressive(const std::filesystem::path& folder) {
  JobSpec job = small_dcgan(folder);
  job.model = {.family = family_named("progressive"), .width = 8, .latent = 8};
  job.training.batch = 8;
  job.training.loss = LossKind::kWasserstein;
  job.training.penalty.gradient_penalty = 10.0;
  job.training.growth = {.from = 4, .kimg = 0.008, .fade_kimg = 0.016};
  for (NetworkSpec& network : job.networks) {
    network.optimizer.lr = 1e-3;
    network.optimizer.betas = {0.0, 0.99};
  }
  return job;
}

JobSpec small_job_of(const Recipe& recipe, const ModelFamily* family,
                     const std::filesystem::path& folder) {
  JobSpec job = JobSpec::of(recipe);
  const JobSpec like = family->makes_points ? small_mlp() : small_dcgan(folder);
  job.model = {.family = family, .width = 16, .latent = 4};
  if (family->makes_images()) {
    job.model.resolution = family->resolutions.front();
  }
  job.data = like.data;
  job.training.kimg = like.training.kimg;
  job.training.batch = like.training.batch;
  job.training.microbatches = like.training.microbatches;
  job.training.seed = like.training.seed;
  if (family->makes_points) {
    job.training.autoencoder.reconstruction = Reconstruction::kSquared;
  }
  job.networks[job.shown_network()].ema_kimg = 0.05;
  if (recipe.has_codes) {
    job.model.codes = 2;
    job.model.categories = 3;
  }
  job.output.grid = 1;
  return job;
}

JobSpec small_autoencoder(const ModelFamily* family, const std::filesystem::path& folder) {
  return small_job_of(*recipe_named("vae"), family, folder);
}

JobSpec small_translation(const Recipe& recipe, const ModelFamily* family,
                          const std::filesystem::path& folder) {
  JobSpec job = small_job_of(recipe, family, folder);
  job.model.width = 8;
  job.model.blocks = 1;
  job.data.source =
      recipe.is_cyclic ? "classes:idx:" + folder.string() + ":1,2" : "edges:idx:" + folder.string();
  job.training.loss = LossKind::kLeastSquares;
  job.training.batch = 8;
  job.training.translation.pool = 3;  // micro-batches have 2 images: full in step 2
  return job;
}

JobSpec small_style_transfer(const std::filesystem::path& folder) {
  JobSpec job = small_job_of(*recipe_named("style-transfer"), family_named("johnson"), folder);
  job.model.width = 4;
  job.model.blocks = 1;
  job.training.batch = 8;
  job.training.style = {.picture = {.file = (folder / "style.png").string(), .hash = {}},
                        .weight = 20.0,
                        .total_variation = 1e-3};
  return job;
}

JobSpec small_distillation(const ModelFamily* family, const std::filesystem::path& folder) {
  JobSpec job = small_job_of(*recipe_named("distill"), family, folder);
  job.model.width = 8;
  job.model.blocks = 1;
  job.training.distill = {.teacher_width = 16, .prunes = true};
  return job;
}

std::vector<NamedJob> job_breadth(const std::filesystem::path& folder) {
  std::vector<NamedJob> jobs;
  const AddJob add = [&](const std::string& name,
                         const std::function<void(JobSpec&)>& change) -> NamedJob& {
    jobs.push_back({.name = name, .job = small_dcgan(folder)});
    change(jobs.back().job);
    return jobs.back();
  };
  add("Dcgan", [](JobSpec&) {});
  add("DcganContiguous",
      [](JobSpec& job) { job.numerics.memory_format = MemoryFormat::kContiguous; });
  add("DcganLabelled", [](JobSpec& job) { job.model.classes = 10; });
  add("DcganMirrored", [](JobSpec& job) { job.data.mirror = true; });
  add("DcganAugmented", [](JobSpec& job) {
    job.model.channels = 3;
    job.data.limit = 50;
    job.data.augment = {.crop = 0.8,
                        .zoom = 1.2,
                        .rotation = 15.0,
                        .brightness = 0.2,
                        .contrast = 0.2,
                        .saturation = 0.2};
  });
  add("DcganThreeChannels64Pixels", [](JobSpec& job) {
    job.model.width = 8;
    job.model.channels = 3;
    job.model.resolution = 64;
  });
  add("DcganDropout", [](JobSpec& job) { job.model.dropout = 0.3; });
  add("DcganNoAverage", [](JobSpec& job) { job.network("generator").ema_kimg = 0.0; });
  add_losses_and_penalties(add);
  add_optimizers_and_regularisers(add);
  add("ClippedBoth", [](JobSpec& job) {
    job.network("generator").clip_norm = 0.05;
    job.network("discriminator").clip_norm = 0.05;
  });
  add("AdamWWarmUpCosine", [](JobSpec& job) {
    for (NetworkSpec& network : job.networks) {
      network.optimizer = {.kind = OptimizerKind::kAdamW, .weight_decay = 0.01};
      network.schedule = {.warmup_kimg = 0.04, .decay = DecayKind::kCosine, .final_value = 0.1};
    }
  }).steps = 3;
  add("SchedulesOfAllKinds", [](JobSpec& job) {
    NetworkSpec& generator = job.network("generator");
    generator.schedule = {.decay = DecayKind::kOneCycle, .initial_value = 0.1, .peak = 0.5};
    generator.beta1_schedule = {.decay = DecayKind::kLinear, .final_value = 0.9};
    generator.ema_schedule = {.warmup_kimg = 0.04, .warmup_from = 0.5};
    NetworkSpec& discriminator = job.network("discriminator");
    discriminator.schedule = {.decay = DecayKind::kExponential, .final_value = 0.5};
    discriminator.beta2_schedule = {.decay = DecayKind::kCosine, .final_value = 0.9, .cycles = 2};
    job.training.penalty = {.gradient_penalty = 10.0, .r1_gamma = 2.0};
    job.training.penalty.gamma_schedule = {.decay = DecayKind::kStep, .milestones = {0.02, 0.04}};
    job.training.penalty.gradient_schedule = {.decay = DecayKind::kLinear, .final_value = 2.0};
    job.training.burn_in_kimg = 0.06;
  }).steps = 3;
  jobs.push_back({.name = "MlpR1", .job = small_mlp(), .steps = 3});
  jobs.back().job.training.penalty.r1_gamma = 1.0;
  add("ReusedFakes", [](JobSpec& job) {
    job.training.reuse_fakes = true;
    job.network("discriminator").steps = 2;
    job.model.classes = 10;
  });
  add("ReusedFakesRelativistic", [](JobSpec& job) {
    job.training.reuse_fakes = true;
    job.training.loss = LossKind::kRelativistic;
  });
  add("Infogan", [](JobSpec& job) {
    job.model = {.family = family_named("infogan"), .resolution = 28, .width = 8, .latent = 8};
    job.training.batch = 8;
  }).is_large = true;
  add("R3ganR1R2Labelled", [](JobSpec& job) {  // residual blocks are active from step 1 on
    job.model = {
        .family = family_named("r3gan"), .width = 8, .blocks = 1, .latent = 8, .classes = 10};
    job.training.batch = 8;
    job.training.loss = LossKind::kRelativistic;
    job.training.penalty = {.r1_gamma = 2.0, .r2_gamma = 1.0, .final_factor = 0.1};
    job.training.burn_in_kimg = 0.02;
    for (NetworkSpec& network : job.networks) {
      network.optimizer.betas = {0.0, 0.9};
      network.schedule = {.decay = DecayKind::kCosine, .final_value = 0.25};
      network.final_beta2 = 0.99;
    }
  });
  add("GatR1R2Labelled", [](JobSpec& job) {
    job.model = {.family = family_named("gat"),
                 .width = 16,
                 .blocks = 2,
                 .patch = 8,
                 .latent = 8,
                 .classes = 10};
    job.training.batch = 8;
    job.training.loss = LossKind::kRelativistic;
    job.training.penalty = {.r1_gamma = 2.0, .r2_gamma = 1.0};
  });
  add("BigganR1LabelledOrthogonal", [](JobSpec& job) {
    job.model = {
        .family = family_named("biggan"), .width = 4, .attention = 16, .latent = 9, .classes = 10};
    job.training.batch = 8;
    job.training.loss = LossKind::kHinge;
    job.training.penalty.r1_gamma = 2.0;
    job.training.orthogonal_weight = 1e-3;
  });
  add("Stylegan2R1PathLengthsMixedLabelled", [](JobSpec& job) {
    job.model = {.family = family_named("stylegan2"),
                 .width = 2,
                 .latent = 8,
                 .classes = 10,
                 .mapping_layers = 2,
                 .style_mixing = 0.5};
    job.training.batch = 8;
    job.training.penalty = {.r1_gamma = 2.0, .r1_interval = 2};
    job.training.path_length = {.weight = 2.0, .interval = 2};
  }).steps = 3;
  add("DcganBf16R1", [](JobSpec& job) {
    for (NetworkSpec& network : job.networks) {
      network.precision = Precision::kBf16;
    }
    job.model.width = 8;
    job.training.penalty.r1_gamma = 2.0;
    job.model.normalization = Normalization::kBatch;
  });
  add("Stylegan2DiscriminatorFp16GeneratorBf16", [](JobSpec& job) {
    job.model = {.family = family_named("stylegan2"), .width = 2, .latent = 8, .mapping_layers = 2};
    job.network("generator").precision = Precision::kBf16;
    job.network("discriminator").precision = Precision::kFp16;
  });
  jobs.push_back({.name = "ProgressiveLabelled", .job = small_progressive(folder), .steps = 5});
  jobs.back().job.model.classes = 10;
  jobs.push_back({.name = "VaeDense", .job = small_autoencoder(family_named("dense"), folder)});
  jobs.push_back(
      {.name = "VaeDcganLabelledClipped", .job = small_autoencoder(family_named("dcgan"), folder)});
  jobs.back().job.model.classes = 10;
  jobs.back().job.network("encoder").clip_norm = 0.5;
  jobs.push_back({.name = "VaeOfPoints", .job = small_autoencoder(family_named("mlp"))});
  for (const Recipe* recipe : {recipe_named("infogan"), recipe_named("vae-gan")}) {
    const std::string name = recipe->has_codes ? "InfoganCodes" : "VaeGan";
    jobs.push_back(
        {.name = name + "Points", .job = small_job_of(*recipe, family_named("mlp"), folder)});
    jobs.back().job.network("discriminator").steps = 2;
    jobs.back().job.model.dropout = 0.3;
    jobs.push_back({.name = name + "DcganLabelledClipped",
                    .job = small_job_of(*recipe, family_named("dcgan"), folder)});
    jobs.back().job.model.classes = 10;
    jobs.back().job.network("trunk").clip_norm = 0.5;
    jobs.back().job.training.reuse_fakes = recipe->has_codes;
  }
  for (const bool is_cyclic : {false, true}) {
    const Recipe& recipe = *recipe_named(is_cyclic ? "cyclegan" : "pix2pix");
    const std::string name = is_cyclic ? "Cyclegan" : "Pix2pix";
    jobs.push_back({.name = name + "Residual",
                    .job = small_translation(recipe, family_named("cyclegan"), folder)});
    jobs.back().job.model.width = 4;
    jobs.push_back({.name = name + "Unet64PixelsClipped",  // its decoder has dropout
                    .job = small_translation(recipe, family_named("unet"), folder)});
    JobSpec& job = jobs.back().job;
    job.model.width = 4;
    job.model.resolution = 64;
    job.data.mirror = true;
    job.networks[job.shown_network()].clip_norm = 0.5;
    job.data.augment.rotation = 15.0;
    job.data.direction = is_cyclic ? PairDirection::kAToB : PairDirection::kBToA;
    job.training.reuse_fakes = !is_cyclic;
    job.training.translation.identity_weight = 0.0;
  }
  add_frozen(jobs, folder);
  std::ranges::move(jobs_as_published(folder), std::back_inserter(jobs));
  return jobs;
}

}  // namespace gangway::fidelity
