// SPDX-License-Identifier: MIT
#include "report/advice/advice.hpp"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/advice/rules.hpp"
#include "report/advice/step_facts.hpp"

namespace gangway::report {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Keys = std::map<std::string, std::string>;

/// A step of one second that computes, waits little for each part, and has prefetched data.
json healthy() {
  return {
      {"parts_rank", 1},
      {"parts",
       {{"generator_forward", 0.2},
        {"discriminator_forward", 0.25},
        {"discriminator_backward", 0.25},
        {"discriminator_penalty", 0.1},
        {"generator_backward", 0.1},
        {"data", 0.01},
        {"exchange", 0.03},
        {"optimizer", 0.01},
        {"workers", 0.01},
        {"messages", 0.02},
        {"other", 0.02}}},
      {"parts_by_rank",
       {{"generator_forward", {0.8, 0.8}}, {"exchange", {0.05, 0.05}}, {"workers", {0.0, 0.1}}}},
      {"loader", {{"read", 0.1}, {"decode", 0.2}, {"no_room", 0.7}}},
      {"throttled_percent", 2.0},
      {"memory_used_gib", 8.0},
      {"memory_limit_gib", 16.0},
      {"memory_limit", "host"},
      {"core_percent", 99.0},
      {"preemptions_per_step", 5.0}};
}

std::vector<std::string> rules_of(const std::vector<Advice>& all) {
  std::vector<std::string> rules;
  for (const Advice& advice : all) {
    rules.push_back(advice.rule);
  }
  return rules;
}

std::vector<Advice> after(int ticks, const json& tick, Keys keys = {}) {
  AdviceTracker tracker(std::move(keys));
  for (int i = 0; i < ticks; ++i) {
    (void)tracker.add(tick);
  }
  return tracker.current();
}

TEST(Advice, HasNothingToSayOfAHealthyRun) {
  EXPECT_THAT(after(100, healthy()), IsEmpty());
  AdviceTracker tracker({});
  (void)tracker.add(healthy());
  EXPECT_NEAR(tracker.computing(), 0.9, 0.01);
}

struct Planted {
  std::string rule;
  json change;  ///< merged into the healthy tick
  Keys keys = {};
};

TEST(Advice, FindsEachPlantedBottleneckFirst) {
  const std::vector<Planted> cases = {
      {"decode-bound",
       {{"parts", {{"data", 0.4}}}, {"loader", {{"decode", 0.9}, {"no_room", 0.0}}}}},
      {"read-bound", {{"parts", {{"data", 0.4}}}, {"loader", {{"read", 0.9}, {"no_room", 0.0}}}}},
      {"augment-bound",
       {{"parts", {{"data", 0.4}}}, {"loader", {{"augment", 0.9}, {"no_room", 0.0}}}}},
      {"shallow-prefetch", {{"parts", {{"data", 0.2}}}}},
      {"oversubscribed", {{"core_percent", 60.0}}},
      {"swapping", {{"major_faults_per_step", 12.0}}},
      {"tiny-microbatches", {{"parts", {{"leaves", 0.2}}}}},
      {"overlap-off", {{"parts", {{"exchange", 0.2}}}}, {{"layout.overlap", "none"}}},
      {"straggler",
       {{"parts_by_rank", {{"generator_forward", {0.9, 0.4}}, {"workers", {0.0, 0.5}}}}}},
      {"slow-link", {{"parts", {{"messages", 0.3}}}}},
      {"update-bound", {{"parts", {{"optimizer", 0.3}}}}},
      {"exchange-bound", {{"parts", {{"exchange", 0.8}}}}},
      {"norm-wait", {{"exposed", {{"discriminator", {{"seconds", 0.1}, {"agree", true}}}}}}},
      {"bubble",
       {{"parts", {{"tensors", 0.1}}}, {"parts_by_rank", {{"tensors", {0.2, 0.4}}}}},
       {{kIsCut, "true"}}},
      {"unbalanced-networks",
       {{"parts_by_rank", {{"discriminator_backward", {0.9, 0.4}}, {"tensors", {0.1, 0.6}}}}},
       {}},
      {"snapshots", {{"parts", {{"snapshots", 0.05}}}}},
      {"checkpoints", {{"parts", {{"checkpoints", 0.05}}}}},
      {"pictures", {{"parts", {{"pictures", 0.05}}}}, {{"output.pictures_kimg", "1"}}},
      {"checks", {{"parts", {{"checks", 0.02}}}}, {{"layout.check_steps", "1"}}},
      {"launch-bound", {{"device_starved_percent", 40.0}}},
      {"penalties", {{"parts", {{"discriminator_penalty", 0.8}}}}, {{"training.r1.gamma", "0.5"}}},
      {"coordinator", {{"parts", {{"coordinator", 0.05}}}}},
      {"cpu-quota", {{"throttled_percent", 30.0}, {"core_percent", 60.0}}},
      {"low-clock",
       {{"slow_gpu_rank", 2}, {"slow_gpu_clock_percent", 60.0}, {"slow_gpu_slowed_by", "heat"}}},
      {"memory-nearly-full", {{"memory_used_gib", 14.8}}},
  };
  EXPECT_EQ(cases.size(), step_rules().size() + machine_rules().size() - 1)
      << "each rule of single ticks has a case";
  for (const Planted& planted : cases) {
    json tick = healthy();
    tick.merge_patch(planted.change);
    const std::vector<Advice> found = after(4, tick, planted.keys);
    ASSERT_THAT(rules_of(found), ElementsAre(planted.rule)) << planted.rule;
    EXPECT_THAT(advice_line(found.front()), HasSubstr(planted.rule + ": "));
    EXPECT_FALSE(found.front().remedy.empty());
  }
}

TEST(Advice, TakesNoWaitForDataForAHostThatIsSlow) {
  json tick = healthy();
  tick.merge_patch({{"parts", {{"data", 0.5}}},
                    {"loader", {{"decode", 0.9}, {"no_room", 0.0}}},
                    {"parts_by_rank", {{"data", {0.5, 0.0}}, {"workers", {0.0, 0.5}}}}});
  EXPECT_THAT(rules_of(after(4, tick, {})), ElementsAre("decode-bound"));
}

TEST(Advice, LeavesPenaltiesAloneThatHaveNoInterval) {
  json tick = healthy();
  tick.merge_patch({{"parts", {{"discriminator_penalty", 0.8}}}});
  const Keys gradient_penalty{{"training.gradient_penalty", "10"}, {"training.r1.gamma", "0"}};
  EXPECT_THAT(after(4, tick, gradient_penalty), IsEmpty());
}

TEST(Advice, NamesKeysThatAProgramCanTake) {
  const auto keys_after = [](const json& parts, Keys keys) {
    json tick = healthy();
    tick.merge_patch({{"parts", parts}});
    const std::vector<Advice> found = after(4, tick, std::move(keys));
    return found.empty() ? std::vector<std::string>() : found.front().keys;
  };
  EXPECT_THAT(keys_after({{"pictures", 0.05}}, {{"output.pictures_kimg", "0.25"}}),
              ElementsAre("output.pictures_kimg=4"))
      << "so that they take half a percent";
  EXPECT_THAT(keys_after({{"checkpoints", 0.05}},
                         {{"checkpoint.every_steps", "10"}, {"checkpoint.every_kimg", "0"}}),
              ElementsAre("checkpoint.every_steps=160"));
  EXPECT_THAT(keys_after({{"coordinator", 0.02}}, {{"output.tick_kimg", "4"},
                                                   {"output.pictures_kimg", "0"},
                                                   {"checkpoint.every_kimg", "2"},
                                                   {"checkpoint.every_steps", "10"},
                                                   {"training.batch", "64"}}),
              ElementsAre("checkpoint.every_steps=40"))
      << "what comes most often";
  EXPECT_THAT(
      keys_after({{"leaves", 0.2}}, {{"training.batch", "64"}, {"training.microbatches", "32"}}),
      ElementsAre("training.microbatches=4"));
  EXPECT_THAT(keys_after({{"messages", 0.3}}, {}), IsEmpty()) << "a command";
}

TEST(Advice, BoundsTheGainByWhatIsSaved) {
  json tick = healthy();
  tick["parts"] = {{"generator_forward", 0.5}, {"messages", 0.5}};
  EXPECT_DOUBLE_EQ(after(4, tick).front().gain, 2.0);
}

TEST(Advice, TakesAGpusPartsWhereThereIsOne) {
  json tick = healthy();
  tick["parts"] = {{"generator_forward", 0.1}, {"recorded", 0.1}, {"device", 0.8}};
  tick["device_parts"] = {{"recorded", 0.7}, {"messages", 0.3}};
  tick["core_percent"] = 60.0;  // busy share of a thread that mostly waits for the GPU
  const std::vector<Advice> found = after(4, tick);
  ASSERT_THAT(rules_of(found), ElementsAre("slow-link"));
  EXPECT_THAT(found.front().evidence, HasSubstr("30% of a step"));
  AdviceTracker tracker({});
  (void)tracker.add(tick);
  EXPECT_DOUBLE_EQ(tracker.computing(), 0.7);
}

TEST(Advice, TakesTheGainFromTheShareThatItTells) {
  AdviceTracker tracker({});
  for (const double share : {0.5, 0.5, 0.8, 0.94}) {
    json tick = healthy();
    tick["parts"] = {{"generator_forward", 1.0 - share}, {"messages", share}};
    (void)tracker.add(tick);
  }
  const std::string line = advice_line(tracker.current().front());
  EXPECT_THAT(line, HasSubstr("waits for messages of other hosts 94% of a step"));
  EXPECT_THAT(line, HasSubstr("(about 16.67 times as fast; "));
}

TEST(Advice, SaysThatTheGainMayBeMoreWhereAlmostAllIsWaited) {
  json tick = healthy();
  tick["parts"] = {{"generator_forward", 0.01}, {"messages", 0.99}};
  EXPECT_THAT(advice_line(after(4, tick).front()),
              HasSubstr("about 20.00 times as fast or more; "));
}

TEST(Advice, TellsThreadsOfItsOwnFromOtherPrograms) {
  json tick = healthy();
  tick.merge_patch({{"core_percent", 60.0}, {"other_cores", 0.2}});
  EXPECT_THAT(after(4, tick).front().remedy, HasSubstr("other programs"));
  tick["other_cores"] = 0.7;
  EXPECT_THAT(after(4, tick).front().remedy, HasSubstr("rarer checkpoints"));
}

TEST(Advice, NamesTheNextRungWhereMemoryIsNearlyFull) {
  json tick = healthy();
  tick["memory_used_gib"] = 15.0;
  const Keys keys{{kMemoryRung, "layout.recompute=true"}};
  EXPECT_THAT(advice_line(after(4, tick, keys).front()),
              HasSubstr("15.00 of 16.00 GiB of its host are in use: layout.recompute=true"));
  EXPECT_THAT(after(4, tick).front().remedy, HasSubstr("docs/memory.md"));
  tick["memory_used_gib"] = 14.0;
  EXPECT_THAT(after(100, tick), IsEmpty());
  tick["allocation_retries"] = 2;
  EXPECT_THAT(advice_line(after(4, tick, keys).front()),
              HasSubstr("had to free its cached memory 2 times"));
}

/// Ticks of one minute with the given memory of the workers; other processes use half of the host's
/// 16 GiB.
std::vector<Advice> after_memory(const std::vector<double>& resident_gib, double kimg_in_all) {
  AdviceTracker tracker({{"training.kimg", std::to_string(kimg_in_all)}});
  double minutes = 0.0;
  for (const double resident : resident_gib) {
    json tick = healthy();
    minutes += 1.0;
    tick.merge_patch({{"seconds_total", 60.0 * minutes},
                      {"seconds_per_kimg", 60.0},
                      {"kimg", minutes},
                      {"resident_gib", resident},
                      {"memory_used_gib", 8.0 + resident}});
    (void)tracker.add(tick);
  }
  return tracker.current();
}

TEST(Advice, FindsMemoryThatGrowsUntilItIsFull) {
  constexpr double kForDays = 10'000.0;
  std::vector<double> leaks;
  std::vector<double> settles;
  std::vector<double> wavers;
  for (int tick = 0; tick < 40; ++tick) {
    leaks.push_back(1.0 + 0.01 * tick);  // 0.6 GiB an hour; 7 GiB are left: 11 hours
    settles.push_back(2.0 - 1.0 / (1.0 + tick * tick));
    wavers.push_back(1.0 + (tick % 3 == 0 ? 0.5 : 0.0));
  }
  const std::vector<Advice> found = after_memory(leaks, kForDays);
  ASSERT_THAT(rules_of(found), ElementsAre("memory-growth"));
  EXPECT_THAT(
      advice_line(found.front()),
      HasSubstr("memory grows by 0.60 GiB an hour, and the free part of the host, 6.61 GiB, "
                "lasts for 11.0 hours; the run needs 166.0 hours more"));
  EXPECT_THAT(after_memory(leaks, 100.0), IsEmpty()) << "the run is over before it is full";
  EXPECT_THAT(after_memory(settles, kForDays), IsEmpty());
  EXPECT_THAT(after_memory(wavers, kForDays), IsEmpty());
  leaks.insert(leaks.end(), 20, leaks.back());
  EXPECT_THAT(after_memory(leaks, kForDays), IsEmpty()) << "it has ended";
}

TEST(Advice, IsPatientAndForgetsSlowly) {
  json slow = healthy();
  slow["parts"]["pictures"] = 0.05;
  json less = healthy();
  less["parts"]["pictures"] = 0.015;  // below the threshold, above half of it
  AdviceTracker tracker({});
  EXPECT_THAT(tracker.add(slow), IsEmpty());
  EXPECT_THAT(tracker.add(less), IsEmpty());
  EXPECT_THAT(tracker.add(slow), IsEmpty()) << "two of three";
  EXPECT_THAT(rules_of(tracker.add(slow)), ElementsAre("pictures"));
  EXPECT_THAT(tracker.add(slow), IsEmpty()) << "once";
  for (int i = 0; i < 10; ++i) {
    (void)tracker.add(less);
  }
  EXPECT_THAT(rules_of(tracker.current()), ElementsAre("pictures"));
  for (int i = 0; i < 3; ++i) {
    (void)tracker.add(healthy());
  }
  EXPECT_THAT(tracker.current(), IsEmpty());
}

TEST(Advice, BelievesNoTick) {
  AdviceTracker tracker({});
  for (const json& tick : {json::object(), json{{"parts", 1}}, json{{"parts", {{"data", "x"}}}},
                           json{{"parts", {{"data", 1.0}}},
                                {"parts_by_rank", {{"data", 1}, {"workers", {"x"}}}},
                                {"loader", nullptr},
                                {"parts_rank", 99},
                                {"exposed", {{"d", 1}}}}}) {
    EXPECT_NO_THROW((void)tracker.add(tick)) << tick;
  }
}

}  // namespace
}  // namespace gangway::report
