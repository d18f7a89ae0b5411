// SPDX-License-Identifier: MIT
#include "run/messages/codec.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::messages {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kHugest = std::numeric_limits<std::uint64_t>::max();
constexpr int kMany = std::numeric_limits<int>::max();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Umlauts, a zero, and what is no UTF-8: names of files may be anything.
const std::string kText = std::string("Größe 七 \n") + '\0' + "\xff\xfe";

// Of each kind one without anything in it, and one or more with odd values.

std::vector<Message> samples_of_a_start() {
  const SnapshotId id{.step = 8, .incarnation = 3, .epoch = 2, .num_workers = 3};
  return {
      Hello{},
      Hello{.protocol = 77,
            .rank = Rank(kMany),
            .host = kText,
            .process =
                {.boot_id = kText, .pid_namespace = kText, .pid = kHuge, .start_ticks = kHugest},
            .shared_memory = kHugest,
            .device = kText,
            .build = kText},
      Welcome{},
      Welcome{.epoch = kHuge,
              .job_yaml = kText,
              .run_directory = kText,
              .layout = {{.workers = {0, 2}, .ranges = {{0, 5}, {5, kMany}}},
                         {.workers = {0, 1},
                          .ranges = {{0, kMany}, {0, kMany}},
                          .chunks = {{0, 3}, {3, kMany}}}},
              .lifeline = {.hosts = kText, .port = 65535, .token = kText},
              .trace = {.begin = 3, .end = kHuge, .detail = {.memory = true}},
              .copies_snapshots = true,
              .goes_on = true,
              .run_id = kText,
              .incarnation = kHuge,
              .changes = {{.step = 3, .lr_factor = 0.5, .reseed = 1}, {kHuge, 1e-300, kMany}}},
      Inventory{},
      Inventory{.parts = {{.of = id, .worker = 2},
                          {.of = {kHuge, kHuge, kHuge, kMany}, .worker = kMany - 1}}},
      Begin{},
      Begin{.attempt = kHuge, .step = kHuge, .checkpoint = kText},
      Begin{.attempt = 1,
            .step = 8,
            .snapshot =
                WholeSnapshot{.id = id,
                              .holders = {{WorkerIndex(0), WorkerIndex(2)},
                                          {WorkerIndex(1)},
                                          {WorkerIndex(0), WorkerIndex(1), WorkerIndex(kMany)}}}},
      Loading{},
      Loading{.bytes = kHugest, .total = kHugest},
      Unloadable{},
      Unloadable{.attempt = kHuge, .reason = kText, .part = 0, .holder = WorkerIndex(kMany)},
      Ready{},
      Ready{.plan_hash = kHugest,
            .plan_summary = kText,
            .parameters = {0, kHuge, 1},
            .data_fingerprint = kText,
            .libtorch = kText,
            .has_buddies = true,
            .arithmetic = {.bits = kText, .facts = {{kText, kText}, {}}},
            .data = {kText, {{kText, kHugest}, {}}, {{kText, kText}, {}}}},
  };
}

std::vector<Message> samples_of_training() {
  return {
      Lease{},
      Lease{.begin = 5,
            .end = kHuge,
            .pictures = true,
            .checkpoint_directory = kText,
            .last = true,
            .snapshots = {6, 7, kHuge},
            .protected_snapshot = 0,
            .changes = {{.step = 5, .lr_factor = 0.5, .reseed = 0}, {.step = kHuge}},
            .trace = {.begin = 7, .end = kHuge, .detail = {.shapes = true, .kernels = true}}},
      Progress{},
      Progress{.step = kHuge,
               .losses = {{0, {-0.0, kInfinite}},
                          {kMany, {-kInfinite, 1e-320, 0.0}, {{kText, -0.0}, {}}}},
               .figures = {.exposed_seconds = 1.5,
                           .parts = {2.5, -0.0, 1e-320},
                           .core_seconds = 3.5,
                           .preemptions = kHugest,
                           .major_faults = 1,
                           .loader = {0.25},
                           .device_parts = {0.5},
                           .device_steps = kHugest,
                           .device_marks = 3,
                           .device_starved = kHugest,
                           .quota_periods = kHugest,
                           .throttled_periods = 1,
                           .other_core_seconds = 4.5},
               .exposures = {{}, {kMany, kText, 1.0, {0.25, 0.75}, true}},
               .unfired = kHugest,
               .memory = {.resident_bytes = kHugest,
                          .allocated_bytes = 1,
                          .reserved_bytes = 2,
                          .peak_bytes = 3,
                          .retries = 4,
                          .used_bytes = 5,
                          .limit_bytes = kHugest,
                          .limit = kText},
               .sent_bytes = kHugest,
               .snapshot = 0,
               .snapshot_seconds = 1.0,
               .snapshot_wait_seconds = 2.0,
               .snapshot_bytes = kHugest,
               .copied_snapshot = kHuge,
               .tried_snapshot = kHuge,
               .updates = {{},
                           {.network = kMany,
                            .update = kHuge,
                            .lr = 1e-320,
                            .squares = UpdateSquares{.gradient = 1.0, .change = kInfinite}}},
               .histograms = {{},
                              {.step = kHuge,
                               .tag = kText,
                               .counts = {.buckets = {0, Histogram::kBuckets - 1},
                                          .counts = {1, kHuge},
                                          .least = -kInfinite,
                                          .most = kInfinite,
                                          .sum = -0.0,
                                          .sum_of_squares = 1e300}}},
               .gauges = DeviceGauges{.busy = 0.0,
                                      .used_bytes = kHugest,
                                      .watts = 1e-320,
                                      .clock = 0.5,
                                      .slowed_by = 7}},
  };
}

std::vector<Message> samples_of_files_and_ends() {
  return {
      CheckpointPart{},
      CheckpointPart{.step = kHuge,
                     .file = kText,
                     .bytes = kHugest,
                     .xxh3_128 = kText,
                     .error = kText,
                     .under_way = true,
                     .seconds = 1e300},
      Picture{},
      Picture{.step = kHuge, .file = kText},
      Stop{},
      Stop{.exit_code = 255, .reason = kText, .accused = Rank(kMany), .step = kHuge, .keep = true},
      Patience{},
      Goodbye{},
  };
}

std::vector<Message> samples() {
  std::vector<Message> all;
  for (const auto& some :
       {samples_of_a_start(), samples_of_training(), samples_of_files_and_ends()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// The line of the refusal; empty where the bytes are a message.
std::string refusal(std::string_view bytes) {
  try {
    (void)decode(bytes, Rank(3));
  } catch (const InvariantError& error) {
    return error.what();
  }
  return {};
}

bool is_read_of_any_build(const Message& message) {
  return std::holds_alternative<Hello>(message) || std::holds_alternative<Stop>(message);
}

TEST(Codec, GivesBackWhatWasSaid) {
  std::set<std::size_t> kinds;
  for (const Message& message : samples()) {
    for (const std::int64_t epoch : {std::int64_t{0}, kHuge}) {
      const Envelope envelope{.epoch = epoch, .message = message};
      EXPECT_EQ(decode(encode(envelope), Rank(1)), envelope) << name_of(message);
    }
    kinds.insert(message.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>) << "a kind is not tried";
}

TEST(Codec, TellsAllWorkersOfAllWorkersInFewBytes) {
  Welcome welcome{.layout = {NetworkGroup{}, NetworkGroup{}}};
  Begin begin{.step = 8,
              .snapshot = WholeSnapshot{.id = {.step = 8, .num_workers = 4096}, .holders = {}}};
  for (int worker = 0; worker < 4096; ++worker) {
    for (NetworkGroup& group : welcome.layout) {
      const int before = group.ranges.empty() ? 0 : group.ranges.back().end;
      group.workers.push_back(worker);
      group.ranges.push_back({before, before + (worker < 1000 ? 2 : 1)});
    }
    const auto host = std::views::iota(worker / 8 * 8, worker / 8 * 8 + 4);
    begin.snapshot->holders.emplace_back(host.begin(), host.end());
  }
  for (const Message& message : {Message(welcome), Message(begin)}) {
    const std::string bytes = encode({.message = message});
    EXPECT_EQ(decode(bytes, Rank(1)).message, message);
    EXPECT_LT(bytes.size(), message.index() == Message(welcome).index() ? 100U : 8000U);
  }
}

TEST(Codec, KeepsALossThatIsNoNumber) {
  const Progress progress{.losses = {{0, {std::nan(""), 1.0}}}};
  const Envelope again = decode(encode({.message = progress}), Rank(1));
  EXPECT_TRUE(std::isnan(std::get<Progress>(again.message).losses.at(0).by_network.at(0)));
}

TEST(Codec, RefusesPartOfAMessageInOneLineButOfAHelloAndAStop) {
  for (const Message& message : samples()) {
    const std::string bytes = encode({.epoch = 7, .message = message});
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::string line = refusal(bytes.substr(0, length));
      if (!is_read_of_any_build(message) || !line.empty()) {
        EXPECT_THAT(line, AllOf(StartsWith("rank 3 sent an invalid "), HasSubstr(" bytes ("),
                                EndsWith(": start all ranks from one build")));
        EXPECT_EQ(line.find('\n'), std::string::npos);
      }
    }
  }
}

TEST(Codec, TakesGarbledBytesForAMessageOrRefusesThem) {
  std::mt19937 random(20240607);
  int refused = 0;
  for (const Message& message : samples()) {
    const std::string bytes = encode({.epoch = 7, .message = message});
    for (int round = 0; round < 2000; ++round) {
      std::string garbled = bytes;
      for (auto flips = 1 + random() % 4; flips > 0; --flips) {
        char& byte = garbled.at(random() % garbled.size());
        byte = static_cast<char>(byte ^ (1 << (random() % 8)));
      }
      refused += refusal(garbled).empty() ? 0 : 1;  // whatever else is thrown fails the test
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Codec, RefusesBytesThatAreNoMessage) {
  EXPECT_EQ(refusal("nonsense"),
            "rank 3 sent an invalid message of 8 bytes (it ends too early): start all ranks "
            "from one build");
  EXPECT_THAT(refusal(""), HasSubstr("(it ends too early)"));
  EXPECT_THAT(refusal(std::string("\5Later\0", 7)),
              HasSubstr("(of a kind that this build does not know)"));
  EXPECT_THAT(refusal(encode({.message = Goodbye{}}) + "x"), HasSubstr("(1 bytes are left)"));
}

TEST(Codec, RefusesNumbersOfMoreThan64Bits) {
  const std::string picture = std::string("\7Picture\0", 9);
  const std::string nine(9, '\xff');
  EXPECT_THAT(refusal(picture + nine + '\x02'), HasSubstr("(a number of more than 64 bits)"));
  EXPECT_THAT(refusal(picture + nine + '\x81' + '\0'),
              HasSubstr("(a number of more than 64 bits)"));
  EXPECT_THAT(refusal(picture + nine + '\x01'), HasSubstr("(the number -1)"));
}

/// What a message says that is refused as this.
struct Refused {
  Message message;
  std::string why;
};

TEST(Codec, RefusesNumbersThatCannotBe) {
  const SnapshotId id{.step = 8, .num_workers = 2};
  const auto snapshot = [&](const std::vector<std::vector<int>>& holders) {
    Begin begin{.step = 8, .snapshot = WholeSnapshot{id, {}}};
    for (const std::vector<int>& workers : holders) {
      begin.snapshot->holders.emplace_back(workers.begin(), workers.end());
    }
    return begin;
  };
  const auto shared = [](std::vector<MicrobatchRange> ranges, std::vector<int> workers = {0, 1}) {
    return Welcome{.layout = {{.workers = std::move(workers), .ranges = std::move(ranges)}}};
  };
  const std::vector<Refused> refused{
      {Hello{.rank = Rank(-1)}, "the number -1"},
      {Hello{.process = {.pid = -1}}, "the number -1"},
      {shared({{0, 2}, {2, 2}}), "micro-batches [2, 2) after 2"},
      {shared({{2, 0}, {0, 4}}), "the number -2"},
      {shared({{0, 2}}), "2 workers with 1 ranges of 1 chunks"},
      {shared({{0, 2}, {2, 4}}, {0, 2}), "networks on the ranks [1, 3] alone"},
      {Welcome{.trace = {9, 3}}, "traced steps [9, 3)"},
      {Welcome{.trace = {-1, 3}}, "the number -1"},
      {Welcome{.incarnation = -1}, "the number -1"},
      {Inventory{{{.of = id, .worker = 2}}}, "the part of rank 3 of 2"},
      {Inventory{{{.of = {.num_workers = -1}}}}, "the number -1"},
      {Inventory{{{.of = {.step = -1}}}}, "the number -1"},
      {Begin{.attempt = -1}, "the number -1"},
      {snapshot({{0}}), "1 of 2 parts"},
      {snapshot({{0}, {}}), "a part held by the ranks []"},
      {snapshot({{0}, {1, 0}}), "a part held by the ranks [2, 1]"},
      {snapshot({{0, 0}, {1}}), "a part held by the ranks [1, 1]"},
      {snapshot({{-1, 0}, {1}}), "the number -1"},
      {Begin{.step = 7, .snapshot = WholeSnapshot{id, {{WorkerIndex(0)}, {WorkerIndex(1)}}}},
       "step 7 of another snapshot"},
      {Unloadable{.part = -2}, "the number -2"},
      {Unloadable{.holder = WorkerIndex(-1)}, "the number -1"},
      {Ready{.parameters = {3, -1}}, "the number -1"},
      {Lease{.begin = 9, .end = 3}, "steps [9, 3)"},
      {Lease{.begin = -1, .end = 3}, "the number -1"},
      {Lease{.begin = 1, .end = 3, .snapshots = {1}},
       "a snapshot of step 1 after 1 in the steps [1, 3)"},
      {Lease{.begin = 1, .end = 3, .snapshots = {2, 4}},
       "a snapshot of step 4 after 2 in the steps [1, 3)"},
      {Lease{.protected_snapshot = -2}, "the number -2"},
      {Lease{.begin = 5, .end = 9, .trace = {.begin = 7, .end = 6}}, "traced steps [7, 6)"},
      {Lease{.begin = 5, .end = 9, .changes = {{.step = 4}}},
       "a change from step 4 on in the steps [5, 9)"},
      {Welcome{.changes = {{.step = 1, .reseed = -1}}}, "the number -1"},
      {Progress{.step = -1}, "the number -1"},
      {Progress{.losses = {{-1, {0.0, 0.0}}}}, "the number -1"},
      {Progress{.exposures = {{.phase = -1}}}, "the number -1"},
      {Progress{.snapshot = -2}, "the number -2"},
      {Progress{.copied_snapshot = -2}, "the number -2"},
      {Progress{.tried_snapshot = -2}, "the number -2"},
      {Progress{.updates = {{.network = -1}}}, "the number -1"},
      {Progress{.updates = {{.update = -1}}}, "the number -1"},
      {Progress{.histograms = {{.counts = {.buckets = {3}}}}}, "0 counts of 1 buckets"},
      {Progress{.histograms = {{.counts = {.buckets = {3, 3}, .counts = {1, 1}}}}},
       "bucket 3 after 3"},
      {Progress{.histograms = {{.counts = {.buckets = {Histogram::kBuckets}, .counts = {1}}}}},
       "bucket 641 after -1"},
      {CheckpointPart{.step = -1}, "the number -1"},
      {Picture{.step = -1}, "the number -1"},
      {Stop{.exit_code = 256}, "exit code 256"},
      {Stop{.exit_code = -1}, "the number -1"},
      {Stop{.accused = Rank(-1)}, "the number -1"},
  };
  for (const Refused& one : refused) {
    EXPECT_THAT(
        refusal(encode({.message = one.message})),
        AllOf(StartsWith("rank 3 sent an invalid " + std::string(name_of(one.message)) + " of "),
              EndsWith(" bytes (" + one.why + "): start all ranks from one build")));
  }
}

TEST(Codec, RefusesEpochsThatCannotBe) {
  EXPECT_THAT(refusal(encode({.epoch = -1, .message = Goodbye{}})), HasSubstr("(the number -1)"));
  EXPECT_THAT(refusal(encode({.message = Welcome{.epoch = -2}})), HasSubstr("(the number -2)"));
}

TEST(Codec, RefusesAPortThatIsNone) {
  std::string bytes = encode({.message = Welcome{.lifeline = {.port = 65535}}});
  bytes.replace(bytes.find("\xff\xff\x03"), 3, "\x80\x80\x04");
  EXPECT_THAT(refusal(bytes), HasSubstr("(the number 65536)"));
}

TEST(Codec, UnderstandsTheHelloAndTheStopOfOtherBuilds) {
  // As protocol 14 has them: kind, epoch 0, then the first members.
  const std::string hello("\5Hello\0\x0e\1\4node\4boot\2ns\5\7\0\3cpu\5build", 36);
  const auto heard = [](const std::string& bytes) { return decode(bytes, Rank(1)).message; };
  const Hello whole{
      .protocol = 14,
      .rank = Rank(1),
      .host = "node",
      .process = {.boot_id = "boot", .pid_namespace = "ns", .pid = 5, .start_ticks = 7},
      .device = "cpu",
      .build = "build"};
  EXPECT_EQ(heard(hello), Message(whole));
  EXPECT_EQ(heard(hello + "more"), Message(whole)) << "of a later build";
  EXPECT_EQ(heard(hello.substr(0, 9)), Message(Hello{.protocol = 14, .rank = Rank(1)}))
      << "of an earlier";
  const std::string stop("\4Stop\0\3\3why\0\0\0", 14);
  EXPECT_EQ(heard(stop + "more"), Message(Stop{.exit_code = 3, .reason = "why"}));
}

}  // namespace
}  // namespace gangway::messages
