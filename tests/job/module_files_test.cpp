// SPDX-License-Identifier: MIT
#include "job/modules/module_files.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/estimate/dry_run.hpp"
#include "job/families/families.hpp"
#include "job/file/fingerprint.hpp"
#include "job/models/python_network.hpp"
#include "job/schema/key.hpp"
#include "python/read/python_sources.hpp"
#include "tests/job/job_problems.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

constexpr std::string_view kPng("\x89PNG\r\n\x1a\n");  // the signature of a PNG

class ModuleFiles : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder.path() / name).string();
  }
  /// Returns a job whose networks are classes of g.py and d.py of the folder.
  [[nodiscard]] std::string job(const std::string& more = "") const {
    return "model: {generator: '" + path("g.py") + ":G', discriminator: '" + path("d.py") + ":D'" +
           more + "}\n";
  }
  const testing::ScratchFolder folder;
};

TEST_F(ModuleFiles, AreOfNoFamilyAndAnySize) {
  folder.write("g.py", "one");
  folder.write("d.py", "two");
  const JobSpec spec = spec_of(job(", resolution: 48, latent: 5, classes: 10"));
  EXPECT_EQ(spec.model.family, own_family());
  const PerNetwork<Architecture> networks = spec.architectures();
  EXPECT_EQ(signature_text(*python_in(networks[NetworkId{0}])),
            "forward(noise [N, 5] float32, labels [N] int64) -> [N, 1, 48, 48] float32");
  EXPECT_EQ(signature_text(*python_in(networks[NetworkId{1}])),
            "forward(image [N, 1, 48, 48] float32, labels [N] int64) -> [N, 1] float32");
  EXPECT_EQ(python_in(networks[NetworkId{1}])->key, "model.discriminator");
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
}

TEST_F(ModuleFiles, StandBesideAFamilysNetworks) {
  folder.write("d.py", "two");
  const JobSpec spec =
      spec_of("model: {family: r3gan, discriminator: '" + path("d.py") + ":D', width: 16}\n");
  EXPECT_EQ(spec.model.family->name, "r3gan");
  EXPECT_EQ(python_in(spec.architectures()[NetworkId{0}]), nullptr);
  EXPECT_NE(python_in(spec.architectures()[NetworkId{1}]), nullptr);
}

TEST_F(ModuleFiles, BelongToTheJobByTheirContentAlone) {
  folder.write("g.py", "one");
  folder.write("d.py", "two");
  const JobSpec before = spec_of(job());
  folder.write("elsewhere/g.py", "one");
  const JobSpec moved = spec_of(job(), {"model.generator=" + path("elsewhere/g.py") + ":G"});
  EXPECT_EQ(job_fingerprint(moved), job_fingerprint(before));
  EXPECT_EQ(model_fingerprint(moved), model_fingerprint(before));
  folder.write("g.py", "another");
  const JobSpec changed = spec_of(job());
  EXPECT_NE(job_fingerprint(changed), job_fingerprint(before));
  EXPECT_NE(model_fingerprint(changed), model_fingerprint(before));
}

TEST_F(ModuleFiles, MayBeAStylePicture) {
  const std::string one = std::string(kPng) + "one";
  folder.write("style.png", one);
  const std::string text = "training: {recipe: style-transfer, style: {picture: '" +
                           path("style.png") +
                           "'}}\nmodel: {family: johnson}\nfeatures: {weights: w.safetensors}\n";
  const JobSpec before = spec_of(text);
  EXPECT_EQ(before.training.style.picture.hash.size(), 32U);
  EXPECT_EQ(parse_job(to_yaml(before), "job.yaml"), before);
  EXPECT_EQ(read_style_file(before), one);
  folder.write("elsewhere/style.png", one);
  EXPECT_EQ(
      job_fingerprint(spec_of(text, {"training.style.picture=" + path("elsewhere/style.png")})),
      job_fingerprint(before));
  keep_modules(before, folder.path() / "run");
  folder.write("style.png", std::string(kPng) + "another");
  EXPECT_NE(job_fingerprint(spec_of(text)), job_fingerprint(before));
  EXPECT_THROW((void)read_style_file(before), ConfigError);
  JobSpec again = before;
  use_kept_modules(again, folder.path() / "run");
  EXPECT_EQ(read_style_file(again), one);
}

TEST_F(ModuleFiles, AreNoStyleWhereTheyAreNoPictures) {
  folder.write("style.gif", "GIF89a");
  const std::string text = "training: {recipe: style-transfer, style: {picture: '" +
                           path("style.gif") +
                           "'}}\nmodel: {family: johnson}\nfeatures: {weights: w.safetensors}\n";
  try {
    (void)spec_of(text);
    ADD_FAILURE() << "no complaint";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()), "training.style.picture: " + path("style.gif") +
                                             ": is neither PNG nor JPEG; name a PNG or JPEG file");
  }
}

TEST_F(ModuleFiles, AreKeptInTheRunDirectory) {
  folder.write("g.py", "one");
  folder.write("d.py", "two");
  JobSpec spec = spec_of(job());
  keep_modules(spec, folder.path() / "run");
  folder.write("g.py", "another");
  folder.write("run/job.yaml", to_yaml(spec));
  const JobSpec again = load_job({.file = folder.path() / "run/job.yaml",
                                  .text = std::nullopt,
                                  .overrides = {},
                                  .environment = {}})
                            .spec;
  EXPECT_EQ(job_fingerprint(again), job_fingerprint(spec));
  use_kept_modules(spec, folder.path() / "run");
  EXPECT_EQ(read_trusted_python(*python_in(spec.architectures()[NetworkId{0}])).at("g.py"), "one");
}

TEST_F(ModuleFiles, AreRefusedWhereTheyAreMissingOrHaveChanged) {
  folder.write("g.py", "one");
  const auto said = [this](const std::string& more) {
    try {
      (void)spec_of(job(more));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(said(""), AllOf(HasSubstr("model.discriminator: "), HasSubstr("No such file")));
  folder.write("d.py", "two");
  EXPECT_THAT(said(", generator_hash: " + std::string(32, 'a')),
              AllOf(HasSubstr("model.generator: "), HasSubstr("has changed")));
  EXPECT_THAT(said(", generator_hash: abc"), HasSubstr("32 hexadecimal digits"));
}

TEST_F(ModuleFiles, LeaveNoKeyOfAFamilyAMeaning) {
  EXPECT_THAT(problems_of(job(", width: 8")),
              ElementsAre(AllOf(HasSubstr("model.width"), HasSubstr("whose networks are yours"))));
  EXPECT_THAT(problems_of("model: {family: own}\n"),
              ElementsAre(HasSubstr("recipe adversarial needs model.generator")));
  EXPECT_THAT(problems_of("model: {generator_hash: " + std::string(32, 'a') + "}\n"),
              ElementsAre(HasSubstr("has a meaning beside model.generator alone")));
}

TEST_F(ModuleFiles, AreNoTorchScript) {
  const auto refusal = [](const std::string& key, const std::string& file) {
    return "model." + key +
           ": expected FILE.py:CLASS or PACKAGE.MODULE:CLASS, such as nets.py:Generator, not '" +
           file +
           "'; TorchScript files are no networks any more: load it in a Python class "
           "(examples/python/torchscript.py, docs/python.md)";
  };
  EXPECT_THAT(problems_of("model: {family: dcgan, width: 8, discriminator: d.pt}\n"),
              ElementsAre("job.yaml:1:34: " + refusal("discriminator", "d.pt")));
  // As a run's job.yaml names the files.
  const std::string hash(32, 'a');
  EXPECT_THAT(problems_of("model: {family: torchscript, generator: /g.pt, generator_hash: " + hash +
                          ", discriminator: /d.pt, discriminator_hash: " + hash + "}\n"),
              ElementsAre("job.yaml:1:30: " + refusal("generator", "/g.pt"),
                          "job.yaml:1:98: " + refusal("discriminator", "/d.pt")));
}

TEST_F(ModuleFiles, GoOnWhereARunsJobCallsTheirFamilyTorchScript) {
  folder.write("g.py", "one");
  folder.write("d.py", "two");
  const JobSpec spec = spec_of(job(", family: torchscript"));
  EXPECT_EQ(spec, spec_of(job()));
  EXPECT_THAT(to_yaml(spec), HasSubstr("family: own\n"));
  const auto family = std::ranges::find(key_table(), "model.family", &Key::path);
  EXPECT_EQ(family->weighty(spec), "torchscript");
}

TEST_F(ModuleFiles, AreCountedInTheDryRunWhereSomebodyHasLooked) {
  folder.write("g.py", "one");
  folder.write("d.py", "two");
  JobSpec spec = spec_of(job());
  spec.network("generator").module.num_parameters = 1234;
  EXPECT_THAT(describe_dry_run(spec, 1),
              AllOf(HasSubstr("Parameters: generator 1234, discriminator of " + path("d.py") +
                              ", counted when the run starts\n"),
                    HasSubstr("without the activations of model.generator")));
}

}  // namespace
}  // namespace gangway
