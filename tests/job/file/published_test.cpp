// SPDX-License-Identifier: MIT
// Published configurations as job files (examples/published) have the published numbers of
// parameters. They were counted in the authors' modules, on PyTorch's meta device, or where marked
// from the architecture in the authors' code. Buffers are not parameters.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "job/file/parse.hpp"
#include "job/models/architecture.hpp"

namespace gangway {
namespace {

constexpr const char* kPublishedFolder = "examples/published";

struct PublishedNetwork {
  std::string name;
  std::int64_t parameters = 0;
};

struct PublishedConfiguration {
  std::string file;                           ///< without its extension
  std::vector<PublishedNetwork> theirs = {};  ///< by Gangway's names of networks
  std::vector<std::string> overrides = {};    ///< of a variant in the file's header
};

std::vector<PublishedNetwork> published_pair(std::int64_t generator, std::int64_t discriminator) {
  return {{"generator", generator}, {"discriminator", discriminator}};
}

/// Configurations with exactly the authors' networks.
std::vector<PublishedConfiguration> published_configurations() {
  return {
      // github.com/brownvc/R3GAN at 19a7ddf, R3GAN/Networks.py under the presets of train.py
      {"r3gan-cifar10", published_pair(20'781'952, 21'280'512)},
      {"r3gan-cifar10", published_pair(20'732'160, 20'683'776), {"model.classes=0"}},
      {"r3gan-ffhq64", published_pair(22'429'824, 22'381'440)},
      {"r3gan-ffhq256", published_pair(23'057'952, 23'009'568)},
      {"r3gan-imagenet32", published_pair(82'914'304, 86'548'992)},
      {"r3gan-imagenet64", published_pair(103'570'432, 107'205'120)},
      // github.com/NVlabs/stylegan2-ada-pytorch at d72cc7d, training/networks.py under cfg_specs of
      // train.py
      {"stylegan2-ada-auto", published_pair(23'191'522, 24'001'089)},
      {"stylegan2-ada-cifar", published_pair(19'947'539, 20'720'641)},
      {"stylegan2-ada-cifar",
       published_pair(20'215'315, 23'089'664),
       {"model.classes=10", "model.discriminator_mapping_layers=8", "training.fake_labels=data"}},
      {"stylegan2-ada-paper256", published_pair(24'767'458, 24'001'089)},
      {"stylegan2-ada-paper512", published_pair(30'276'583, 28'982'849)},
      {"stylegan2-ada-paper1024", published_pair(30'370'060, 29'012'513)},
      {"stylegan2-ada-stylegan2", published_pair(30'370'060, 29'012'513)},
      // github.com/ajbrock/BigGAN-PyTorch at 9845943, BigGAN.py under the flags of its scripts
      {"biggan-128", published_pair(70'433'988, 87'982'370)},
      {"biggan-cifar10", published_pair(4'304'387, 4'207'361)},
      // From the architecture: github.com/junyanz/pytorch-CycleGAN-and-pix2pix, models/networks.py,
      // which prints 54.414 M, 2.769 M, 11.378 M and 2.765 M
      {"pix2pix-facades", published_pair(54'413'955, 2'768'705)},
      {"cyclegan-maps",
       {{"generator_ab", 11'378'179},
        {"generator_ba", 11'378'179},
        {"discriminator_a", 2'764'737},
        {"discriminator_b", 2'764'737}}},
      // From the architecture: github.com/pytorch/tutorials, dcgan_faces_tutorial.py
      {"dcgan-celeba", published_pair(3'576'704, 2'765'568)},
  };
}

/// From the architecture: github.com/hse1032/GAT at efea1ce, models/, GAT-S/2 for codes of
/// 32x32x4 and 1,000 classes. Gangway's networks lack some parts of it.
constexpr std::int64_t kTheirGatGenerator = 29'361'344;
constexpr std::int64_t kTheirGatDiscriminator = 39'212'928;

std::string published_path(const std::string& file) {
  return std::string(kPublishedFolder) + "/" + file + ".yaml";
}

JobSpec published_job(const std::string& file, const std::vector<std::string>& overrides = {}) {
  JobSources sources;
  sources.file = published_path(file);
  sources.overrides = overrides;
  return load_job(sources).spec;
}

std::int64_t published_count(const JobSpec& job, const std::string& network) {
  return num_parameters(job.architectures()[job.id_of(network)]);
}

/// "20,781,952".
std::string in_thousands(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t left = digits.size(); left > 3;) {
    left -= 3;
    digits.insert(left, ",");
  }
  return digits;
}

std::string published_text(const std::string& path) {
  return read_small_file(path, 1U << 20U).value_or("");
}

TEST(PublishedConfigurations, HaveAsManyParametersAsTheirs) {
  for (const PublishedConfiguration& published : published_configurations()) {
    const JobSpec job = published_job(published.file, published.overrides);
    EXPECT_EQ(job.networks.size(), published.theirs.size()) << published.file;
    // Without classes the labels of the user's folders would change the network.
    const bool knows_labels = job.training.recipe == default_recipe();
    EXPECT_EQ(
        published_text(published_path(published.file)).find("\n  classes: ") != std::string::npos,
        knows_labels)
        << published.file;
    for (const PublishedNetwork& network : published.theirs) {
      EXPECT_EQ(published_count(job, network.name), network.parameters)
          << published.file << ": " << network.name;
    }
  }
}

TEST(PublishedConfigurations, OfGatLackWhatTheirsHasBesides) {
  const auto dense = [](std::int64_t in, std::int64_t out) { return in * out + out; };
  constexpr std::int64_t kWidth = 384;
  constexpr std::int64_t kPatch = 2 * 2;  // pixels
  constexpr std::int64_t kClasses = 1000;
  constexpr std::int64_t kLabel = 2048;   // features of a label in their discriminator
  constexpr std::int64_t kHidden = 2048;  // of the layers that learn DINOv2's features
  constexpr std::int64_t kDino = 768;     // number of DINOv2's features
  constexpr std::int64_t kPictures = 4;   // of a generator
  const JobSpec job = published_job("gat-s");
  const std::int64_t unused_embedding = dense(4 * kPatch, kWidth);
  const std::int64_t fourth_channel = kPictures * dense(kWidth, kPatch);
  EXPECT_EQ(published_count(job, "generator"),
            kTheirGatGenerator - unused_embedding - fourth_channel);
  const std::int64_t features =
      dense(kWidth, kHidden) + dense(kHidden, kHidden) + dense(kHidden, kDino);
  const std::int64_t their_label =
      kClasses * kLabel + 2 * dense(kLabel, kLabel) + dense(kWidth, kLabel);
  const std::int64_t our_label = kClasses * kWidth + dense(kWidth, kWidth);
  EXPECT_EQ(published_count(job, "discriminator"), kTheirGatDiscriminator - features - their_label +
                                                       our_label - kPictures * kPatch * kWidth);
}

TEST(PublishedConfigurations, AreAllCounted) {
  std::vector<std::string> counted{"gat-s"};
  for (const PublishedConfiguration& published : published_configurations()) {
    counted.push_back(published.file);
  }
  for (const auto& entry : std::filesystem::directory_iterator(kPublishedFolder)) {
    EXPECT_TRUE(std::ranges::find(counted, entry.path().stem().string()) != counted.end())
        << entry.path();
  }
}

TEST(PublishedConfigurations, RunAgainResolved) {
  for (const auto& entry : std::filesystem::directory_iterator(kPublishedFolder)) {
    JobSources sources;
    sources.file = entry.path();
    const ResolvedJob job = load_job(sources);
    EXPECT_EQ(parse_job(job.yaml, "job.yaml"), job.spec) << entry.path();
  }
}

/// Returns the line of the table in docs/models.md that names `file`.
std::string line_about(const std::string& file) {
  const std::string page = published_text("docs/models.md");
  const std::size_t named = page.find("`" + file + ".yaml` |");
  if (named == std::string::npos) {
    return {};
  }
  const std::size_t begin = page.rfind('\n', named) + 1;
  return page.substr(begin, page.find('\n', named) - begin);
}

TEST(PublishedConfigurations, SayTheirNumbersInTheirHeadsAndOnThePage) {
  std::vector<PublishedConfiguration> said = published_configurations();
  const JobSpec gat = published_job("gat-s");
  said.push_back({"gat-s", published_pair(published_count(gat, "generator"),
                                          published_count(gat, "discriminator"))});
  said.push_back({"gat-s", published_pair(kTheirGatGenerator, kTheirGatDiscriminator)});
  for (const PublishedConfiguration& published : said) {
    const std::string head = published_text(published_path(published.file));
    const std::string line = line_about(published.file);
    for (const PublishedNetwork& network : published.theirs) {
      const std::string number = in_thousands(network.parameters);
      EXPECT_NE(head.find(number), std::string::npos) << published.file << ": " << number;
      if (published.overrides.empty()) {
        EXPECT_NE(line.find(number), std::string::npos) << published.file << ": " << number;
      }
    }
  }
}

}  // namespace
}  // namespace gangway
