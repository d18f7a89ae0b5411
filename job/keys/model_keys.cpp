// SPDX-License-Identifier: MIT
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "job/families/families.hpp"
#include "job/keys/family_texts.hpp"
#include "job/keys/hashed_file_keys.hpp"
#include "job/keys/key_lists.hpp"
#include "job/keys/key_uses.hpp"
#include "job/keys/python_call.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {

// NOLINTNEXTLINE(readability-function-size): a table
void add_model_keys(const Recipe& recipe, std::vector<Key>& keys) {
  const auto add_taken = [&keys](Key key) {
    keys.push_back(for_families_that_take_it(later(std::move(key))));
  };
  keys.push_back(family_key({"model.family", "", "Architecture of the networks: see Families"}));
  keys.push_back(for_images(
      with_default(whole_key("model.resolution", "pixels", &ModelSpec::resolution, {1, 4096},
                             "Side of the square images; each family has its own sizes"),
                   default_resolutions())));
  keys.push_back(unless_own(whole_key(
      "model.width", "channels", &ModelSpec::width, {1, 4096},
      fmt::format("Channels of the layer next to the image ({}); hidden units per layer ({})",
                  family_names(", ", [](const auto& one) { return !one.is_dense; }),
                  family_names(", ", [](const auto& one) { return one.is_dense; })))));
  keys.push_back(for_distillation(with_default(
      later(whole_key("model.teacher_width", "channels", &DistillSpec::teacher_width, {1, 8192},
                      "model.width of the teacher, whose other keys of model are the generator's")),
      "twice model.width")));
  add_taken(
      whole_key("model.blocks", "", &ModelSpec::blocks, {1, 64},
                "Residual blocks of each network at each resolution of its feature maps ({})"));
  add_taken(whole_key("model.patch", "pixels", &ModelSpec::patch, {1, 64},
                      "Side of the square patches that become tokens ({})"));
  add_taken(
      whole_key("model.attention", "pixels", &ModelSpec::attention, {0, 4096},
                "Side of the feature maps after which each network has attention ({}); 0: none"));
  add_taken(whole_key("model.widest_side", "pixels", &ModelSpec::widest_side, {4, 4096},
                      "Feature maps up to this side have the same number of channels; each "
                      "doubling above it halves the number ({})"));
  add_taken(choice_key("model.attention_everywhere", &ModelSpec::attends_everywhere,
                       "Whether the discriminator has attention after each of its blocks, as in "
                       "the author's code for 32 pixels with attention 16 ({})"));
  add_taken(auto_or_whole_key("model.half_precision_sizes", "", &ModelSpec::half_precision_sizes,
                              {1, 16},
                              "How many of the highest resolutions compute in 16 bits if their "
                              "network does; auto: four for stylegan2 in fp16, else all ({})"));
  add_taken(choice_key("model.conditioning", &ModelSpec::conditioning,
                       "How the generator's BatchNorms get the label: hierarchical, from a shared "
                       "embedding and a piece of the noise; shared, from that embedding alone; "
                       "separate, each from its own embedding ({})"));
  add_taken(whole_key("model.mapping_layers", "", &ModelSpec::mapping_layers, {1, 64},
                      "Dense layers that map noise (and label) to styles ({})"));
  add_taken(auto_or_whole_key(
      "model.discriminator_mapping_layers", "", &ModelSpec::discriminator_mapping_layers, {1, 64},
      "Dense layers for the label in the discriminator; auto: as model.mapping_layers ({})"));
  add_taken(whole_key("model.deviation_group", "examples", &ModelSpec::deviation_group, {1, 4096},
                      "Most examples of a micro-batch in one group of the discriminator's "
                      "minibatch standard deviation ({})"));
  add_taken(choice_key("model.discriminator_residual", &ModelSpec::is_residual,
                       "Whether the discriminator's blocks have skip connections; false: "
                       "architecture orig of the authors' code ({})"));
  add_taken(real_key("model.style_mixing", "", &ModelSpec::style_mixing, kZeroToOne,
                     "Share of generated training examples that take the style of a second noise "
                     "vector from a random layer on ({})"));
  add_taken(choice_key("model.stored_noise", &ModelSpec::stores_noise,
                       "Whether the noise that layers add in evaluation is in the checkpoint, as "
                       "`gangway import` reads it, in place of keyed noise ({})"));
  keys.push_back(
      for_style(later(whole_key("model.levels", "", &ModelSpec::levels, {1, 64},
                                "Feature maps of the feature network that are compared; johnson "
                                "has 1 or 2, a network of your own any number"))));
  keys.push_back(for_noise(whole_key("model.latent", "", &ModelSpec::latent, {1, 65536},
                                     "Elements of the noise vector")));
  keys.push_back(
      for_codes(later(whole_key("model.codes", "", &ModelSpec::codes, {0, 4096},
                                "Continuous latent codes, appended to the noise (infogan)"))));
  keys.push_back(for_codes(later(
      whole_key("model.categories", "", &ModelSpec::categories, {0, 4096},
                "Number of values of the categorical latent code (infogan); 0: no such code"))));
  keys.push_back(for_images(with_default(
      whole_key("model.channels", "", &ModelSpec::channels, {1, 3},
                "Colour channels of the images: 1 is grey, 3 is RGB"),
      "as in the pictures of images:, pairs: or unpaired:; 3 for stacked:fashion-mnist; else 1")));
  keys.push_back(for_labels(with_default(
      whole_key("model.classes", "", &ModelSpec::classes, {0, 100'000},
                "Labels that the networks are conditioned on; 0 trains without labels"),
      "the number of labels of images:, unless a network is your own; else 0")));
  keys.push_back(for_families_that_take_it(
      with_default(choice_key("model.normalization", &ModelSpec::normalization,
                              "Normalization in discriminators and encoders"),
                   fmt::format("auto: none with a penalty or family {}, else batch",
                               family_names(" or ", [](const ModelFamily& family) {
                                 return !family.normalizes_by_default;
                               })))));
  keys.push_back(for_families_that_take_it(
      choice_key("model.activation", &ModelSpec::activation,
                 "Activation in discriminators and encoders; softplus is smooth")));
  keys.push_back(
      for_families_that_take_it(real_key("model.dropout", "", &ModelSpec::dropout, kZeroToBelowOne,
                                         "Share of the discriminator's features that is dropped")));
  add_module_keys(recipe, keys);
  add_library_keys(keys);
}

namespace {

constexpr std::uint64_t kMostThreads = 8;
constexpr std::uint64_t kMostExamples = 1'000'000'000'000;
constexpr RealBounds kZoomFactors{.low = 1.0, .high = 16.0};
constexpr RealBounds kHalfTurn{.high = 180.0};

void add_augment_keys(std::vector<Key>& keys) {
  keys.push_back(for_images(later(real_key("data.crop", "", &AugmentSpec::crop, kAboveZeroToOne,
                                           "Side of the random square crop of each real picture, "
                                           "as a share of the picture's side; 1: no crop"))));
  keys.push_back(
      for_images(later(real_key("data.zoom", "", &AugmentSpec::zoom, kZoomFactors,
                                "Largest factor by which a real picture is magnified; 1: none"))));
  keys.push_back(
      for_images(later(real_key("data.rotation", "degrees", &AugmentSpec::rotation, kHalfTurn,
                                "Largest angle of a real picture's random rotation to either side; "
                                "the border is reflected"))));
  keys.push_back(for_free_shades(later(
      real_key("data.brightness", "", &AugmentSpec::brightness, kZeroToOne,
               "Largest difference from 1 of the random factor on a real picture's shades"))));
  keys.push_back(for_free_shades(
      later(real_key("data.contrast", "", &AugmentSpec::contrast, kZeroToOne,
                     "The same for the factor on the shades' distances from their mean"))));
  keys.push_back(
      for_colours(later(real_key("data.saturation", "", &AugmentSpec::saturation, kZeroToOne,
                                 "The same for the factor on the colours' distances from grey"))));
}

constexpr std::string_view kSizeUnits = "KMGT";

/// Parses "20G" to bytes; returns nothing for other texts.
std::optional<std::int64_t> bytes_in(const std::string& text) {
  std::int64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const std::size_t unit =
      end + 1 == text.data() + text.size() ? kSizeUnits.find(*end) : std::string_view::npos;
  constexpr std::int64_t kMostOfAUnit = 1 << 20;
  if (error != std::errc() || unit == std::string_view::npos || bytes < 1 || bytes > kMostOfAUnit) {
    return std::nullopt;
  }
  return bytes << (10 * (unit + 1));
}

std::string size_text(std::int64_t bytes) {
  std::size_t unit = 0;
  for (bytes >>= 10; bytes % 1024 == 0 && unit + 1 < kSizeUnits.size(); bytes >>= 10) {
    ++unit;
  }
  return std::to_string(bytes) + kSizeUnits[unit];
}

Key cache_key() {
  Key key = make_key({"data.cache", "",
                      "Most disk space for decoded and resized pictures (docs/pictures.md); auto: "
                      "at most a quarter of the free space"},
                     "off, auto or a size", "off, auto, or as in 512M and 20G");
  key.set = [](const YamlNode& node, JobSpec& job) -> std::string {
    const std::string text = node.kind == YamlNode::Kind::kScalar ? node.text : "";
    const std::optional<std::int64_t> bytes = text == "off"    ? 0
                                              : text == "auto" ? DataSpec::kAutoCache
                                                               : bytes_in(text);
    if (!bytes) {
      return "expected off, auto or a size such as 512M or 20G, " + unlike(node);
    }
    job.data.cache = *bytes;
    return {};
  };
  key.get = [](const JobSpec& job) -> std::string {
    const std::int64_t bytes = job.data.cache;
    return bytes == 0 ? "off" : bytes == DataSpec::kAutoCache ? "auto" : size_text(bytes);
  };
  return for_images(for_speed(std::move(key)));
}

/// Appends `data.source` and `data.source_hash`.
void add_source_keys(std::vector<Key>& keys) {
  Key source = text_key(
      {"data.source", "",
       "Source of the real examples; pictures: see docs/pictures.md; a Python class, "
       "data.py:Faces, with arguments as for model.generator: see docs/python.md"},
      &DataSpec::source,
      "fashion-mnist, stacked:fashion-mnist, idx:DIR, images:PATH, toy:ring8, toy:grid25, "
      "pack:DIR; "
      "two sides: pairs:PATH, unpaired:PATH, edges:fashion-mnist, classes:fashion-mnist:A,B; "
      "FILE.py:CLASS, a map");
  source.has_members = true;
  source.set = [set_text = source.set](const YamlNode& node, JobSpec& job) -> std::string {
    ModuleFile& module = job.data.module;
    if (!is_about_python(node)) {
      module = {};
      return set_text(node, job);
    }
    const std::string complaint = read_python_call(node, module);
    job.data.source = module.python_spec("", 0).name_in_folder() + ":" + module.python_class;
    return complaint;
  };
  source.get_weighty = source.get;
  source.get = [get_text = source.get](const JobSpec& job) {
    return job.data.module.is_python() ? python_call_text(job.data.module) : get_text(job);
  };
  std::vector<Key> file_and_hash;
  add_hashed_file_keys(
      file_and_hash, {"data.source", "", ""}, "",
      [](auto& job) -> auto& { return job.data.module; });
  keys.push_back(std::move(source));
  keys.push_back(later(std::move(file_and_hash.back())));
}

}  // namespace

void add_data_keys(std::vector<Key>& keys) {
  add_source_keys(keys);
  keys.push_back(
      for_images(choice_key("data.mirror", &DataSpec::mirror,
                            "Whether half of the real images are flipped left to right")));
  keys.push_back(for_speed(whole_key("data.prefetch", "micro-batches", &DataSpec::prefetch,
                                     {1, 1024}, "Micro-batches prepared ahead by the loader")));
  keys.push_back(for_speed(
      auto_or_whole_key("data.threads", "", &DataSpec::threads, {1, kMostThreads},
                        "Threads that prepare micro-batches, no more than data.prefetch; auto: the "
                        "cores of the worker that neither compute nor carry messages")));
  keys.push_back(cache_key());
  keys.push_back(later(whole_key("data.limit", "examples", &DataSpec::limit, {0, kMostExamples},
                                 "Number of examples to train on, from the start of the source (of "
                                 "each side, if unpaired); 0: all")));
  keys.push_back(for_pairs(later(
      choice_key("data.direction", &DataSpec::direction,
                 "Direction of the translation of a pair: a is its first picture, b its second"))));
  add_augment_keys(keys);
}

}  // namespace gangway
