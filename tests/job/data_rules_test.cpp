// SPDX-License-Identifier: MIT
// Rules on the data of a job, with their messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/data_source.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

/// Returns the complaint about a source of two sides for a CycleGAN.
std::vector<std::string> problems_of_source(const std::string& source) {
  return problems_of("model: {family: cyclegan}\ntraining: {recipe: cyclegan}\ndata: {source: '" +
                     source + "'}");
}

TEST(DataRules, ClassesNameTwoLabelsThatThereAre) {
  for (const std::string source : {"classes:fashion-mnist:5,7", "classes:idx:/a:b,c:0,12",
                                   "edges:fashion-mnist", "edges:idx:/a"}) {
    EXPECT_THAT(problems_of_source(source), ElementsAre()) << source;
  }
  for (const std::string source :
       {"classes:fashion-mnist", "classes:fashion-mnist:5", "classes:fashion-mnist:5,",
        "classes:fashion-mnist:5,x", "classes:fashion-mnist:5,-1", "classes:fashion-mnist,5:7"}) {
    EXPECT_THAT(problems_of_source(source),
                ElementsAre("job.yaml:3:8: data.source: '" + source +
                            "' names no two labels; write them as in classes:fashion-mnist:5,7"));
  }
  EXPECT_THAT(problems_of_source("classes:fashion-mnist:5,10"),
              ElementsAre("job.yaml:3:8: data.source: 'classes:fashion-mnist:5,10' names label 10, "
                          "which fashion-mnist has not; use labels from 0 to 9"));
  for (const std::string source : {"classes:photos:5,7", "edges:photos", "edges:images:/a"}) {
    EXPECT_THAT(problems_of_source(source),
                ElementsAre("job.yaml:3:8: data.source: '" + source +
                            "' names no images with labels; use fashion-mnist or idx:DIR behind "
                            "the colon"));
  }
}

TEST(DataSource, OfClassesIsTakenApart) {
  const TwoLabels labels = two_labels("classes:idx:/a:b:3,14");
  EXPECT_EQ(labels.location, "idx:/a:b");
  EXPECT_EQ(labels.first, 3);
  EXPECT_EQ(labels.second, 14);
  EXPECT_EQ(misspelt_labels("images:/a,b"), "");
}

TEST(DataRules, PicturesAreChangedWithinBounds) {
  EXPECT_THAT(problems_of("data: {crop: 0.9, zoom: 1.2, rotation: 10, brightness: 0.1, contrast: "
                          "0.1, limit: 100}"),
              ElementsAre());
  const JobSpec spec = spec_of("data: {crop: 0.9, zoom: 1.2, rotation: 10, contrast: 0.2}");
  EXPECT_EQ(spec.data.augment,
            (AugmentSpec{.crop = 0.9, .zoom = 1.2, .rotation = 10.0, .contrast = 0.2}));
  EXPECT_EQ(parse_job(to_yaml(spec), "job.yaml"), spec);
  for (const std::string wrong : {"crop: 0", "crop: 1.1", "zoom: 0.9", "rotation: 181",
                                  "rotation: -1", "brightness: 1.5", "limit: -1"}) {
    EXPECT_EQ(problems_of("data: {" + wrong + "}").size(), 1U) << wrong;
  }
}

TEST(DataRules, PointsAreNotChangedAsPictures) {
  EXPECT_EQ(problems_of("model: {family: mlp}\ndata: {source: 'toy:ring8', crop: 0.9, zoom: 2, "
                        "rotation: 1, brightness: 0.1, contrast: 0.1, saturation: 0.1}")
                .size(),
            6U);
  EXPECT_THAT(problems_of("model: {family: mlp}\ndata: {source: 'toy:ring8', limit: 9}"),
              ElementsAre());
}

TEST(DataRules, GreyPicturesHaveNoSaturation) {
  EXPECT_THAT(problems_of("data: {saturation: 0.1}"),
              ElementsAre("job.yaml:1:8: data.saturation: has a meaning for model.channels 3 "
                          "alone; leave it out"));
  EXPECT_THAT(problems_of("data: {saturation: 0.1}\nmodel: {channels: 3}"), ElementsAre());
}

TEST(DataRules, PairsKeepTheirShadesAndMayGoTheOtherWay) {
  const std::string pairs =
      "model: {family: unet}\ntraining: {recipe: pix2pix}\ndata: {source: 'pairs:/x', ";
  EXPECT_THAT(problems_of(pairs + "crop: 0.9, rotation: 5, mirror: true, direction: b-to-a}"),
              ElementsAre());
  EXPECT_THAT(problems_of(pairs + "brightness: 0.1}"),
              ElementsAre("job.yaml:3:28: data.brightness: would change the shades of pairs, which "
                          "belong together; leave it out (crop, zoom, rotation and mirror change "
                          "both alike)"));
  EXPECT_THAT(problems_of("data: {direction: b-to-a}"),
              ElementsAre("job.yaml:1:8: data.direction: has a meaning for pairs alone, of which "
                          "training.recipe pix2pix learns; leave it out"));
  EXPECT_THAT(problems_of("model: {family: cyclegan}\ntraining: {recipe: cyclegan}\n"
                          "data: {source: 'unpaired:/x', contrast: 0.1}"),
              ElementsAre());
}

TEST(DataRules, PicturesOfPicturesAreMadeOfNoNoise) {
  const std::string job =
      "training: {recipe: pix2pix}\ndata: {source: 'edges:fashion-mnist'}\nmodel: {family: unet, ";
  EXPECT_THAT(problems_of(job + "latent: 64}"),
              ElementsAre(HasSubstr("model.latent: has no meaning for training.recipe pix2pix")));
  // Old job files with the usual value parse, and keep their fingerprint.
  EXPECT_THAT(problems_of(job + "latent: 100}"), ElementsAre());
}

}  // namespace
}  // namespace gangway
