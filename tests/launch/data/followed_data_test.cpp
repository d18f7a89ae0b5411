// SPDX-License-Identifier: MIT
#include "launch/data/followed_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/devices/settle_device.hpp"
#include "job/file/fingerprint.hpp"
#include "job/file/parse.hpp"
#include "job/file/settle_places.hpp"
#include "tests/launch/data/one_picture.hpp"

namespace gangway::launch {
namespace {

using gangway::testing::write_picture;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FollowedData follow(const JobSources& sources, const std::optional<JobSpec>& before = {},
                    const std::function<int()>& count_gpus = usable_gpus) {
  return follow_data(open_keys(settle_sources(sources, job_text(sources)).draft), before,
                     count_gpus);
}

class FollowedDataTest : public ::testing::Test {
 protected:
  JobSources sources(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), "data.source=images:" + folder_.path().string());
    return {.file = {}, .text = std::nullopt, .overrides = more, .environment = {}};
  }
  void write_cats_and_dogs(const std::vector<std::uint8_t>& pixel) const {
    write_picture(folder_.path() / "cats/0.png", pixel);
    write_picture(folder_.path() / "dogs/0.png", pixel);
  }

  gangway::testing::ScratchFolder folder_;
};

TEST_F(FollowedDataTest, GivesWhatNobodyHasSaid) {
  write_cats_and_dogs({200, 40, 10});
  const FollowedData followed = follow(sources());
  EXPECT_THAT(followed.overrides, ElementsAre("model.channels=3", "model.classes=2"));
  EXPECT_THAT(followed.note, AllOf(HasSubstr("model.channels 3, model.classes 2"),
                                   HasSubstr(folder_.path().string())));
  EXPECT_THAT(follow(sources({"model.channels=1"})).overrides, ElementsAre("model.classes=2"));
  EXPECT_THAT(follow(sources({"model.channels=1", "model.classes=0"})).overrides, IsEmpty());
  EXPECT_THAT(follow(sources({"model.family=johnson"})).overrides, ElementsAre("model.channels=3"))
      << "which takes no labels";
}

TEST_F(FollowedDataTest, SaysNothingOfWhatIsAsUsual) {
  write_picture(folder_.path() / "0.png", {90});
  EXPECT_THAT(follow(sources()).overrides, ElementsAre("model.channels=1", "model.classes=0"));
  EXPECT_THAT(follow(sources()).note, IsEmpty());
  EXPECT_THAT(
      follow({.file = {}, .text = std::nullopt, .overrides = {}, .environment = {}}).overrides,
      IsEmpty())
      << "fashion-mnist is trained without labels unless somebody says so";
}

TEST_F(FollowedDataTest, MakesTheJobThatSaysTheSame) {
  write_cats_and_dogs({200, 40, 10});
  const auto fingerprint = [&](const std::vector<std::string>& more) {
    return job_fingerprint(load_job(sources(more)).spec);
  };
  EXPECT_EQ(fingerprint(follow(sources()).overrides),
            fingerprint({"model.channels=3", "model.classes=2"}));
  const FollowedData shades = follow(sources({"data.saturation=0.1"}));
  EXPECT_THAT(shades.overrides, ElementsAre("model.channels=3", "model.classes=2"))
      << "a key that grey pictures refuse";
}

TEST_F(FollowedDataTest, KeepsWhatARunWasBegunWith) {
  write_cats_and_dogs({200, 40, 10});
  JobSpec before = load_job(sources()).spec;
  EXPECT_THAT(follow(sources(), before).overrides,
              ElementsAre("model.channels=1", "model.classes=0"));
  before.data.source = "fashion-mnist";
  EXPECT_THAT(follow(sources(), before).overrides,
              ElementsAre("model.channels=3", "model.classes=2"));
}

TEST_F(FollowedDataTest, SaysWhatIsMissingWhereNobodyCanLook) {
  EXPECT_THAT(follow(sources()).unseen,
              AllOf(HasSubstr("cannot be read on this host"), HasSubstr("model.channels")));
  EXPECT_THAT(follow(sources({"model.channels=3", "model.classes=0"})).unseen, IsEmpty());
}

TEST_F(FollowedDataTest, SettlesTheDevice) {
  const JobSources asked{.file = {},
                         .text = "numerics: {device: auto, kernels: fastest}",
                         .overrides = {},
                         .environment = {}};
  EXPECT_THROW((void)load_job(asked), JobFileError) << "nobody has settled it";
  const FollowedData here = follow(asked, std::nullopt, [] { return 2; });
  EXPECT_THAT(here.overrides, ElementsAre("numerics.device=cuda"));
  EXPECT_EQ(here.device, "numerics.device auto: cuda (2 GPUs here)");
  const FollowedData none = follow(asked, std::nullopt, [] { return 0; });
  EXPECT_THAT(none.overrides, ElementsAre("numerics.device=cpu"));
  JobSources settled = asked;
  settled.overrides = none.overrides;
  EXPECT_EQ(load_job(settled).spec.numerics.device, DeviceKind::kCpu)
      << "and what has a meaning for GPUs alone is left out";
  const JobSpec before =
      load_job({.file = {}, .text = std::nullopt, .overrides = {}, .environment = {}}).spec;
  const FollowedData again = follow(asked, before, [] { return 2; });
  EXPECT_THAT(again.overrides, ElementsAre("numerics.device=cpu")) << "as when it was begun";
}

TEST_F(FollowedDataTest, SettlesPrecisionAndMemoryFormatForCommandsThatReadAJob) {
  const ResolvedJob job =
      load_followed({.text = "numerics: {precision: auto, memory_format: auto}\n",
                     .overrides = {},
                     .environment = {}});
  EXPECT_FALSE(has_open_numbers(job.spec));
  EXPECT_EQ(job.yaml, to_yaml(job.spec));
  EXPECT_EQ(job.spec.numerics.memory_format, MemoryFormat::kChannelsLast);
}

}  // namespace
}  // namespace gangway::launch
