// SPDX-License-Identifier: MIT
#include "report/tick.hpp"

#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gangway::report {
namespace {

Tick example() {
  return {.index = 12,
          .step = 375,
          .kimg = 48,
          .seconds_total = 62.4,
          .seconds_tick = 12.8,
          .seconds_per_kimg = 3.2,
          .images_per_second = 311.2,
          .losses = {{"generator", 1.214}, {"discriminator", 0.873}},
          .exposed_percent = 6.1,
          .memory = {.resident_gib = 0.72}};
}

TEST(TickLine, ShowsEveryNumberAfterItsName) {
  EXPECT_EQ(tick_line(example()),
            "tick 12    kimg 48.0     time 1m 02s      sec/kimg 3.20    img/s 311.2    loss_g "
            "1.214   loss_d 0.873   "
            "mem 0.72 GiB comm 6.1%");
}

TEST(TickLine, KeepsItsColumnsFromTickToTick) {
  Tick later = example();
  later.index = 9999;
  later.kimg = 25000;
  later.seconds_total = 100000;
  later.losses[0].loss = -12.5;
  later.exposed_percent = 100;
  const std::string first = tick_line(example());
  const std::string second = tick_line(later);
  for (const std::string name :
       {"kimg ", "time ", "sec/kimg ", "img/s ", "loss_g ", "loss_d ", "mem ", "comm "}) {
    EXPECT_EQ(first.find(" " + name), second.find(" " + name)) << name;
  }
}

TEST(TickLine, ShowsALossThatIsNotANumber) {
  Tick tick = example();
  tick.losses[0].loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(tick_line(tick).find("loss_g nan "), std::string::npos);
}

TEST(TickLine, NamesNetworksWhoseInitialsAreEqual) {
  Tick tick = example();
  tick.losses = {{"generator_ab", 1.0}, {"generator_ba", 2.0}};
  EXPECT_NE(tick_line(tick).find("loss_ga 1.000   loss_gb 2.000   mem"), std::string::npos);
  tick.losses = {{"decoder", 1.0}, {"discriminator", 2.0}};
  EXPECT_NE(tick_line(tick).find("loss_decoder 1.000   loss_discriminator 2.000   mem"),
            std::string::npos);
}

Tick with_phases() {
  Tick tick = example();
  tick.sent_mib_per_step = 24;
  tick.exposed = {{.phase = "discriminator",
                   .percent = 4.0,
                   .seconds_per_step = 0.02,
                   .by_bucket = {0.015, 0.005}},
                  {.phase = "discriminator_regulariser",
                   .percent = 1.0,
                   .seconds_per_step = 0.005,
                   .by_bucket = {}},
                  {.phase = "generator",
                   .percent = 1.1,
                   .seconds_per_step = 0.0055,
                   .by_bucket = {},
                   .agrees = true}};
  tick.unfired = 3;
  tick.check_percent = 0.1234;
  tick.host_wait_percent = 2.5;
  return tick;
}

TEST(TickLine, SaysWhichPhasesCommunicationIsExposedAndWhichWaitForTheNorm) {
  EXPECT_NE(tick_line(with_phases())
                .find("comm 6.1% (D 4.0, DR 1.0, G 1.1 agree) sent 24.0 MiB/step check 0.1%"),
            std::string::npos)
      << tick_line(with_phases());
  Tick seldom = with_phases();
  seldom.check_percent = 2.3e-5;
  EXPECT_EQ(tick_line(seldom).find("check"), std::string::npos);
}

TEST(TickJson, HoldsTheExposedSecondsByPhaseAndBucket) {
  const auto object = nlohmann::json::parse(tick_json(with_phases()));
  EXPECT_EQ(object["exposed"]["discriminator"]["seconds"], 0.02);
  EXPECT_FALSE(object.contains("memory_limit_gib")) << "nobody knows one";
  EXPECT_EQ(object["exposed"]["discriminator"]["by_bucket"], nlohmann::json({0.015, 0.005}));
  EXPECT_EQ(object["exposed"]["discriminator"]["agree"], false);
  EXPECT_EQ(object["exposed"]["generator"]["agree"], true);
  EXPECT_EQ(object["unfired"], 3);
  EXPECT_EQ(object["check_percent"], 0.1234);
  EXPECT_EQ(object["host_wait_percent"], 2.5);
}

TEST(TickLine, SaysWhatSnapshotsCostWhereSomeWereTaken) {
  Tick tick = example();
  tick.snapshots = 2;
  tick.snapshot_percent = 0.1234;
  EXPECT_NE(tick_line(tick).find("comm 6.1% snap 0.12%"), std::string::npos) << tick_line(tick);
  EXPECT_EQ(tick_line(example()).find("snap"), std::string::npos);
}

TEST(TickJson, HoldsWhatSnapshotsAndCheckpointsCost) {
  Tick tick = example();
  tick.snapshots = 2;
  tick.snapshot_seconds = 0.016;
  tick.snapshot_wait_seconds = 0.004;
  tick.snapshot_percent = 0.125;
  tick.snapshot_mib = 96.0;
  tick.checkpoints = {{.step = 350, .seconds = 0.25, .mib = 48.0}};
  const auto object = nlohmann::json::parse(tick_json(tick));
  EXPECT_EQ(object["snapshots"], 2);
  EXPECT_EQ(object["snapshot_seconds"], 0.016);
  EXPECT_EQ(object["snapshot_wait_seconds"], 0.004);
  EXPECT_EQ(object["snapshot_percent"], 0.125);
  EXPECT_EQ(object["snapshot_mib"], 96.0);
  EXPECT_EQ(object["checkpoints"],
            nlohmann::json::parse(R"([{"step": 350, "seconds": 0.25, "mib": 48.0}])"));
  EXPECT_EQ(nlohmann::json::parse(tick_json(example()))["checkpoints"], nlohmann::json::array());
}

TEST(TickJson, HoldsWhatIsKnownOfUpdatesUnderTheNamesOfNetworks) {
  Tick tick = example();
  tick.updates = {{.network = "generator",
                   .count = 375,
                   .lr = 2e-4,
                   .norms = UpdateNorms{.gradient = 0.5,
                                        .weights = std::numeric_limits<double>::infinity(),
                                        .update_ratio = 1e-3}},
                  {.network = "discriminator", .count = 750, .lr = 1e-4}};
  tick.figures = {{"discriminator_accuracy", 0.75}};
  tick.histograms = {{.step = 370, .tag = "Weights/generator/0/weight", .counts = {}}};
  const auto object = nlohmann::json::parse(tick_json(tick));
  EXPECT_EQ(object["generator_updates"], 375);
  EXPECT_EQ(object["generator_lr"], 2e-4);
  EXPECT_EQ(object["generator_gradient_norm"], 0.5);
  EXPECT_TRUE(object["generator_weight_norm"].is_null());
  EXPECT_EQ(object["generator_update_ratio"], 1e-3);
  EXPECT_EQ(object["discriminator_updates"], 750);
  EXPECT_FALSE(object.contains("discriminator_gradient_norm")) << "nobody saw that update";
  EXPECT_EQ(object["discriminator_accuracy"], 0.75);
  EXPECT_EQ(tick_json(tick).find("Weights"), std::string::npos) << "histograms are TensorBoard's";
  EXPECT_EQ(tick_line(tick), tick_line(example()));
}

TEST(FormatDuration, GrowsFromSecondsToDays) {
  EXPECT_EQ(format_duration(0), "0s");
  EXPECT_EQ(format_duration(59.4), "59s");
  EXPECT_EQ(format_duration(62), "1m 02s");
  EXPECT_EQ(format_duration(3 * 3600 + 7 * 60 + 15), "3h 07m 15s");
  EXPECT_EQ(format_duration(2 * 86400 + 4 * 3600 + 30 * 60), "2d 04h 30m");
  EXPECT_EQ(format_duration(-1), "0s");
  EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "0s");
}

TEST(TickJson, IsOneLineThatHoldsTheTick) {
  Tick tick = example();
  tick.losses[1].loss = std::numeric_limits<double>::infinity();
  const std::string text = tick_json(tick);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["tick"], 12);
  EXPECT_EQ(object["step"], 375);
  EXPECT_EQ(object["images_per_second"], 311.2);
  EXPECT_TRUE(object["discriminator_loss"].is_null());
}

}  // namespace
}  // namespace gangway::report
