// SPDX-License-Identifier: MIT
#include "job/library/family_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "job/estimate/dry_run.hpp"
#include "job/file/fingerprint.hpp"
#include "tests/job/job_problems.hpp"
#include "tests/library_files.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::bytes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

/// GANGWAY_SIREN is examples/own-family/, GANGWAY_ODD tests/libraries/odd.cpp.
class FamilyLibrary : public ::testing::Test {
 protected:
  static std::string job(const fs::path& library, const std::string& more = "") {
    return "model: {library: '" + library.string() + "', family: siren, width: 8, latent: 3" +
           more + "}\ndata: {source: 'toy:ring8'}\n";
  }
  /// Copies the example and its blocks' library, with `more` bytes appended.
  [[nodiscard]] fs::path copy(const std::string& name, const std::string& more = "",
                              const std::string& more_of_blocks = "") const {
    folder.write(name + ".blocks.so", bytes_of(blocks_file(GANGWAY_SIREN)) + more_of_blocks);
    return folder.write(name + ".so", bytes_of(GANGWAY_SIREN) + more);
  }
  const testing::ScratchFolder folder;
};

TEST_F(FamilyLibrary, HasFamiliesForTheJobsThatNameIt) {
  const JobSpec spec = spec_of(job(GANGWAY_SIREN));
  EXPECT_EQ(spec.model.family->name, "siren");
  EXPECT_EQ(spec.model.library.hash.size(), 32U);
  const PerNetwork<Architecture> networks = spec.architectures();
  // Layers 3 → 8 → 8 → 8 → 2 and 2 → 8 → 8 → 8 → 1, with biases.
  EXPECT_EQ(num_parameters(networks[NetworkId{0}]), 32 + 72 + 72 + 18);
  EXPECT_EQ(num_parameters(networks[NetworkId{1}]), 24 + 72 + 72 + 9);
  EXPECT_THAT(describe_dry_run(spec, 1), HasSubstr("Parameters: generator 194, discriminator 177"));
}

TEST_F(FamilyLibrary, HasRecipesForTheJobsThatNameIt) {
  const JobSpec spec = spec_of("model: {library: '" GANGWAY_MINIMAX
                               "'}\n"
                               "training: {recipe: minimax}\n"
                               "generator: {ema_kimg: 3}\n");
  EXPECT_EQ(spec.training.recipe->name, "minimax");
  EXPECT_EQ(spec.network("generator").ema_kimg, 3.0);
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  EXPECT_THAT(problems_of("training: {recipe: minimax}\n"),
              ElementsAre(AllOf(HasSubstr("training.recipe"), HasSubstr("expected adversarial"))));
}

TEST_F(FamilyLibrary, ComesBackFromTheResolvedJob) {
  const JobSpec spec = spec_of(job(GANGWAY_SIREN));
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
}

TEST_F(FamilyLibrary, IsNothingToOtherJobs) {
  (void)spec_of(job(GANGWAY_SIREN));
  EXPECT_THAT(problems_of("model: {family: siren}\n"),
              ElementsAre(AllOf(HasSubstr("model.family"), HasSubstr("expected dcgan"))));
}

TEST_F(FamilyLibrary, IsAmongTheFamiliesThatAComplaintLists) {
  EXPECT_THAT(problems_of(job(GANGWAY_SIREN), {"model.family=sirene"}),
              ElementsAre(HasSubstr("did you mean 'siren'?")));
}

TEST_F(FamilyLibrary, MayComeAfterTheFamilyInTheFile) {
  EXPECT_EQ(spec_of("model: {family: siren, library: '" + std::string(GANGWAY_SIREN) +
                    "'}\ndata: {source: 'toy:ring8'}\n")
                .model.family->name,
            "siren");
}

TEST_F(FamilyLibrary, BelongsToTheJobByTheContentOfBothFiles) {
  const JobSpec before = spec_of(job(copy("libone")));
  const JobSpec moved = spec_of(job(copy("elsewhere/libone")));
  EXPECT_EQ(job_fingerprint(moved), job_fingerprint(before));
  EXPECT_EQ(model_fingerprint(moved), model_fingerprint(before));
  EXPECT_NE(model_fingerprint(spec_of(job(copy("libtwo", "x")))), model_fingerprint(before));
  EXPECT_NE(model_fingerprint(spec_of(job(copy("libthree", "", "x")))), model_fingerprint(before));
}

TEST_F(FamilyLibrary, IsKeptInTheRunDirectory) {
  const fs::path library = copy("libone");
  const JobSpec spec = spec_of(job(library));
  keep_library(spec.model.library, folder.path() / "run");
  fs::remove(library);
  fs::remove(blocks_file(library));
  const JobSpec again = parse_job(to_yaml(spec), "job.yaml", folder.path() / "run");
  EXPECT_EQ(again.model.family->name, "siren");
  EXPECT_EQ(job_fingerprint(again), job_fingerprint(spec));
  EXPECT_TRUE(fs::exists(blocks_file(again.model.library.file)));
}

TEST_F(FamilyLibrary, IsRefusedInOneLineWhereItIsOfAnotherVersion) {
  const fs::path other =
      folder.write("libother.so", testing::of_another_version(bytes_of(GANGWAY_SIREN)));
  EXPECT_THAT(problems_of(job(other)),
              ElementsAre(AllOf(HasSubstr("libother.so: is built for Gangway 9."),
                                HasSubstr("and this is 0."), HasSubstr("build it again"))));
}

TEST_F(FamilyLibrary, IsRefusedWhereOthersCanWriteToIt) {
  const fs::path shared = copy("libshared");
  fs::permissions(shared, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(problems_of(job(shared)),
              ElementsAre(AllOf(HasSubstr("libshared.so can be written to by everybody"),
                                HasSubstr("--trust runs it"))));
}

TEST_F(FamilyLibrary, IsNotLoadedForAJobThatOthersCanWriteTo) {
  JobSources sources;
  sources.file = folder.write("job.yaml", job(GANGWAY_SIREN));
  EXPECT_NO_THROW((void)load_job(sources));
  fs::permissions(sources.file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THROW((void)load_job(sources), ConfigError);
  const fs::path run = folder.path() / "run";
  fs::create_directory(run);
  EXPECT_NO_THROW((void)parse_job(job(GANGWAY_SIREN), "job.yaml", run));
  EXPECT_THROW((void)parse_job(job(GANGWAY_SIREN), "job.yaml", run, sources.file), ConfigError);
  fs::permissions(run, fs::perms::others_write, fs::perm_options::add);
  EXPECT_THROW((void)parse_job(job(GANGWAY_SIREN), "job.yaml", run), ConfigError);
  EXPECT_NO_THROW((void)parse_job("model: {family: dcgan}", "job.yaml", run));  // no library
}

TEST_F(FamilyLibrary, IsRefusedInOneLineWhereItIsNone) {
  const fs::path text = folder.write("libtext.so", "hello");
  EXPECT_THAT(problems_of(job(text)), ElementsAre(HasSubstr("is no library for Gangway")));
  EXPECT_THAT(problems_of(job(folder.path() / "libnone.so")),
              ElementsAre(HasSubstr("No such file")));
  EXPECT_THAT(problems_of(job(folder.path())), ElementsAre(HasSubstr("is a folder")));
  const std::string bytes = bytes_of(GANGWAY_SIREN);
  const fs::path half = folder.write(
      "libhalf.so",
      bytes.substr(testing::interface_place(bytes)).insert(0, "gangway-library-interface "));
  EXPECT_THAT(problems_of(job(half)), ElementsAre(HasSubstr("cannot be loaded")));
}

TEST_F(FamilyLibrary, IsRefusedWhereItIsTheOtherOfTheTwoFiles) {
  const fs::path blocks = blocks_file(copy("libone"));
  EXPECT_THAT(problems_of(job(blocks)),
              ElementsAre(AllOf(HasSubstr("libone.blocks.so: has the blocks of a library; name"),
                                HasSubstr("libone.so"))));
}

TEST_F(FamilyLibrary, SaysThatItsBlocksAreMissing) {
  try {
    (void)open_blocks(folder.path() / "libone.so", "");
    ADD_FAILURE() << "opened";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("libone.blocks.so: No such file, and libone.so"),
                                    HasSubstr("keep them side by side")));
  }
}

TEST_F(FamilyLibrary, IsRefusedWhereAFamilyHasANameOfOurs) {
  EXPECT_THAT(problems_of(job(GANGWAY_ODD)),
              ElementsAre(HasSubstr("has a family named dcgan, and so has Gangway")));
}

TEST_F(FamilyLibrary, IsRefusedWhereItIsNotTheJobs) {
  EXPECT_THAT(problems_of(job(GANGWAY_SIREN, ", library_hash: " + std::string(32, 'a'))),
              ElementsAre(HasSubstr("has changed")));
  EXPECT_THAT(problems_of(job(GANGWAY_SIREN, ", library_hash: abc")),
              ElementsAre(HasSubstr("32 hexadecimal digits")));
  EXPECT_THAT(problems_of("model: {library_hash: " + std::string(32, 'a') + "}\n"),
              ElementsAre(HasSubstr("has a meaning beside model.library alone")));
}

}  // namespace
}  // namespace gangway
