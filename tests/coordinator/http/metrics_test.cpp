// SPDX-License-Identifier: MIT
#include "coordinator/http/metrics.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

report::Tick tick_at(std::int64_t step) {
  report::Tick tick;
  tick.step = step;
  tick.kimg = static_cast<double>(step) * 0.1;
  tick.seconds_tick = 10.0;
  tick.seconds_per_kimg = 1.0;  // 10 kimg, 100 steps
  tick.data_percent = 20.0;
  tick.sent_mib_per_step = 0.5;
  tick.exposed = {{.phase = "discriminator", .percent = 5.0},
                  {.phase = "generator", .percent = 2.0}};
  return tick;
}

MetricSources sources() {
  MetricSources sources;
  sources.build = {.version = "1.2", .run = "00001-x", .started_unix = 1000.0};
  sources.status.unix_seconds = 1600.0;
  sources.status.step = 12;
  sources.status.kimg = 1.5;
  sources.status.phase = JobPhase::kPaused;
  return sources;
}

TEST(MetricsTotals, AddsUpWhatTicksTellByTheTick) {
  MetricsTotals book;
  report::Tick second = tick_at(200);
  second.checkpoints = {{.step = 150, .seconds = 0.5, .mib = 3.0}};
  second.updates = {{.network = "generator", .count = 3, .lr = 1e-3, .was_skipped = true}};
  book.add(tick_at(100));
  book.add(second);
  EXPECT_DOUBLE_EQ(book.totals().training_seconds, 20.0);
  EXPECT_DOUBLE_EQ(book.totals().exposed_seconds.at("discriminator"), 1.0);
  EXPECT_DOUBLE_EQ(book.totals().exposed_seconds.at("generator"), 0.4);
  EXPECT_DOUBLE_EQ(book.totals().data_wait_seconds, 4.0);
  EXPECT_NEAR(book.totals().sent_bytes, 200 * 0.5 * 1024 * 1024, 1.0);
  EXPECT_EQ(book.totals().checkpoints, 1);
  EXPECT_EQ(book.totals().skipped_updates.at("generator"), 1);
}

TEST(Metrics, TellWhereAGpusTimeWentByTheStepsThatWereLookedAt) {
  report::Tick looked_at = tick_at(100);  // 100 steps
  looked_at.part_names = {"generator_forward", "data"};
  looked_at.parts = {{.rank = Rank(1), .seconds = {0.01, 0.09}, .device_seconds = {0.04, 0.0}}};
  report::Tick passed_over = looked_at;
  passed_over.step = 200;
  passed_over.kimg = 20.0;
  passed_over.parts.front().device_seconds.clear();
  MetricSources known = sources();
  known.book.add(looked_at);
  known.book.add(passed_over);
  const std::string labels = "{part=\"generator_forward\",rank=\"1\"}";
  EXPECT_THAT(metrics_text(known),
              AllOf(HasSubstr("gangway_step_part_seconds_total" + labels + " 2\n"),
                    HasSubstr("gangway_device_part_seconds_total" + labels + " 4\n"),
                    Not(HasSubstr("gangway_device_part_seconds_total{part=\"data\""))));
  known.book = {};
  passed_over.parts.front().device_seconds.clear();
  known.book.add(passed_over);
  EXPECT_THAT(metrics_text(known), Not(HasSubstr("gangway_device_part_seconds_total")));
}

TEST(Metrics, TellHowTheRunStands) {
  const std::string text = metrics_text(sources());
  EXPECT_THAT(text, AllOf(HasSubstr("gangway_build_info{version=\"1.2\",run=\"00001-x\"} 1\n"),
                          HasSubstr("gangway_training_step 12\n"),
                          HasSubstr("# TYPE gangway_training_images_total counter\n"),
                          HasSubstr("gangway_training_images_total 1500\n"),
                          HasSubstr("gangway_run_phase{phase=\"paused\"} 1\n"),
                          HasSubstr("gangway_run_phase{phase=\"training\"} 0\n")));
}

TEST(Metrics, SayNothingOfWhatIsNotKnown) {
  const std::string text = metrics_text(sources());
  EXPECT_THAT(text, AllOf(Not(HasSubstr("gangway_checkpoint_bytes")),
                          Not(HasSubstr("gangway_step_seconds")),
                          Not(HasSubstr("gangway_worker_up")), Not(HasSubstr("gangway_loss"))));
}

TEST(Metrics, CountTheAgeOfACheckpointThatHasNotComeFromTheStart) {
  MetricSources known = sources();
  EXPECT_THAT(metrics_text(known), HasSubstr("gangway_checkpoint_age_seconds 600\n"));
  known.status.checkpoint = {.step = 10, .age_kimg = 0.1, .age_seconds = 42.0};
  EXPECT_THAT(metrics_text(known), HasSubstr("gangway_checkpoint_age_seconds 42\n"));
}

TEST(Metrics, TellEachWorkerAndQuoteItsNames) {
  MetricSources known = sources();
  known.status.workers = {{.rank = Rank(1), .host = "a\"b\\\n", .device = "cpu", .state = "ready"},
                          {.rank = Rank(2), .host = "c", .device = "cpu", .state = "lost"}};
  const std::string text = metrics_text(known);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("gangway_worker_up{rank=\"1\",host=\"a\\\"b\\\\\\n\",device=\"cpu\"} 1\n"),
            HasSubstr("gangway_worker_up{rank=\"2\",host=\"c\",device=\"cpu\"} 0\n"),
            Not(HasSubstr("gangway_worker_resident_memory_bytes"))));
}

TEST(Metrics, TellTheMemoryOfEachWorker) {
  MetricSources known = sources();
  known.status.tick.emplace();
  known.status.workers = {{.rank = Rank(1),
                           .host = "a",
                           .device = "cpu",
                           .memory = {.resident_bytes = 4,
                                      .allocated_bytes = 1,
                                      .reserved_bytes = 2,
                                      .peak_bytes = 5,
                                      .retries = 3}}};
  const std::string labels = "{rank=\"1\",host=\"a\",device=\"cpu\"}";
  EXPECT_THAT(metrics_text(known),
              AllOf(HasSubstr("gangway_worker_resident_memory_bytes" + labels + " 4\n"),
                    HasSubstr("gangway_worker_allocated_memory_bytes" + labels + " 1\n"),
                    HasSubstr("gangway_worker_reserved_memory_bytes" + labels + " 2\n"),
                    HasSubstr("gangway_worker_peak_memory_bytes" + labels + " 5\n"),
                    HasSubstr("gangway_worker_allocation_retries" + labels + " 3\n")));
}

TEST(Metrics, TellOfEachGpuWhatItsDriverDoes) {
  MetricSources known = sources();
  known.status.tick.emplace();
  known.status.workers = {
      {.rank = Rank(1),
       .host = "a",
       .device = "H100",
       .gauges = messages::DeviceGauges{.busy = 0.75, .used_bytes = 1024, .celsius = 61.0}},
      {.rank = Rank(2), .host = "b", .device = "H100"}};
  const std::string text = metrics_text(known);
  const std::string labels = "{rank=\"1\",host=\"a\",device=\"H100\"}";
  EXPECT_THAT(text, AllOf(HasSubstr("gangway_gpu_utilization_ratio" + labels + " 0.75\n"),
                          HasSubstr("gangway_gpu_memory_used_bytes" + labels + " 1024\n"),
                          HasSubstr("gangway_gpu_temperature_celsius" + labels + " 61\n"),
                          Not(HasSubstr("gangway_gpu_memory_bytes")),
                          Not(HasSubstr("gangway_gpu_power_watts"))));
  EXPECT_THAT(text, Not(HasSubstr("gangway_gpu_utilization_ratio{rank=\"2\"")));
}

TEST(Metrics, LeaveLossesThatAreNotNumbersToPrometheus) {
  MetricSources known = sources();
  known.status.losses = {{"generator", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_THAT(metrics_text(known), HasSubstr("gangway_loss{network=\"generator\"} Nan\n"));
}

TEST(HostFigures, AreThoseOfThisHost) {
  const HostFigures figures = host_figures("/tmp");
  EXPECT_GT(figures.memory_bytes, figures.available_memory_bytes);
  EXPECT_GE(figures.disk_bytes, figures.available_disk_bytes);
  EXPECT_GT(figures.resident_bytes, 1'000'000U);
  EXPECT_GE(figures.open_descriptors, 3U);
  EXPECT_TRUE(figures.load_1_minute);
  EXPECT_FALSE(host_figures("/nowhere").disk_bytes);
}

}  // namespace
}  // namespace gangway::coordinator
