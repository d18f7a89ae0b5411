// SPDX-License-Identifier: MIT
#include "worker/state/load_from_snapshot.hpp"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "checkpoint/snapshots/snapshot_slot.hpp"
#include "job/file/fingerprint.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/worker/snapshot_service_fixture.hpp"

namespace gangway::worker {
namespace {

class SnapshotLoaderTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path folder(const std::string& name) const { return scratch_.path() / name; }

 private:
  testing::ScratchFolder scratch_;
};

TEST_F(SnapshotLoaderTest, GoesOnFromTheSnapshotsOfAnotherNumberOfWorkers) {
  on_workers({.num_workers = 3, .run = folder("a")},
             [&](int me, Worker& worker, SnapshotService& service, Parts&) {
               fill(worker);
               forget_foreign_slices(worker, me);
               service.take_now(kSavedStep);
             });
  int num_parts = 3;
  for (const int num_workers : {3, 1, 2}) {
    on_workers({.num_workers = num_workers,
                .run = folder("a"),
                .snapshot_parts = std::exchange(num_parts, num_workers)},
               [&](int me, Worker& worker, SnapshotService& service, Parts&) {
                 expect_filled(worker, me, num_workers);
                 service.take_now(kSavedStep);
               });
  }
}

/// Where two hosts lie: worker `me` of the start sees one of two folders.
fs::path host_of(const fs::path& run, int me) {
  const fs::path memory = run / ("host" + std::to_string(me % 2));
  fs::create_directories(memory);
  return memory;
}

/// Three workers on two hosts take a snapshot each.
void take_on_two_hosts(const fs::path& run) {
  comm::LoopbackHub hub(3);
  comm::spawn_ranks(3, [&](int me) {
    comm::LoopbackTransport transport(hub, me);
    comm::Lane lane([] {});
    Worker worker(3);
    ScriptedLink link(std::deque<messages::Begin>{{.attempt = 1}});
    const StateSetup setup = state_setup({.num_workers = 3, .run = run}, host_of(run, me),
                                         worker.states(), transport, lane, link);
    SnapshotService service(setup, begin_state(setup));
    fill(worker);
    forget_foreign_slices(worker, me);
    service.take_now(kSavedStep);
  });
}

/// Overwrites some of what worker 2 took, which lies in `host`.
void damage_part_2(const fs::path& host) {
  const std::vector<fs::path> folders{host};
  const auto found = checkpoint::find_snapshots(
      folders, checkpoint::snapshot_key(host.parent_path(), job_fingerprint(kJob), {}));
  const auto taken = std::ranges::find(found, 2, &checkpoint::SnapshotEntry::worker);
  ASSERT_NE(taken, found.end());
  const checkpoint::SnapshotFile part(taken->file);
  const auto piece = part.bytes(0);
  std::fstream file(taken->file, std::ios::in | std::ios::out | std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  const std::string_view wanted(reinterpret_cast<const char*>(piece.data()), piece.size());
  file.seekp(static_cast<std::streamoff>(content.find(wanted)));
  file.write("damage", 6);
}

/// The proposal of that snapshot to four workers: host0 has the parts of 0 and 2, host1 that of 1.
const messages::Begin kOnTwoHosts{
    .attempt = 1,
    .step = kSavedStep,
    .snapshot = messages::WholeSnapshot{.id = {.step = kSavedStep, .num_workers = 3},
                                        .holders = {{WorkerIndex(0), WorkerIndex(2)},
                                                    {WorkerIndex(1), WorkerIndex(3)},
                                                    {WorkerIndex(0), WorkerIndex(2)}}}};

TEST_F(SnapshotLoaderTest, GoesOnFromSnapshotsInTheMemoryOfSeveralHosts) {
  take_on_two_hosts(folder("a"));
  comm::LoopbackHub hub(4);
  comm::spawn_ranks(4, [&](int me) {
    comm::LoopbackTransport transport(hub, me);
    comm::Lane lane([] {});
    Worker worker(4);
    ScriptedLink link(std::deque<messages::Begin>{kOnTwoHosts});
    (void)begin_state(state_setup({.num_workers = 4, .run = folder("a")}, host_of(folder("a"), me),
                                  worker.states(), transport, lane, link));
    EXPECT_EQ(link.found.parts.size(), me % 2 == 0 ? 2U : 1U);
    expect_filled(worker, me, 4);
  });
}

TEST_F(SnapshotLoaderTest, NamesThePartThatIsDamagedAndWhoHoldsItThenBeginsAnew) {
  take_on_two_hosts(folder("a"));
  damage_part_2(host_of(folder("a"), 0));
  comm::LoopbackHub hub(4);
  comm::spawn_ranks(4, [&](int me) {
    comm::LoopbackTransport transport(hub, me);
    comm::Lane lane([] {});
    Worker worker(4);
    const Worker fresh(4);
    ScriptedLink link(std::deque<messages::Begin>{kOnTwoHosts, {.attempt = 2}});
    (void)begin_state(state_setup({.num_workers = 4, .run = folder("a")}, host_of(folder("a"), me),
                                  worker.states(), transport, lane, link));
    for (const messages::Unloadable& failure : link.failures) {
      EXPECT_EQ(me % 2, 0) << "on the other host nothing is damaged";
      EXPECT_EQ(failure.attempt, 1);
      EXPECT_EQ(failure.part, 2);
      EXPECT_EQ(failure.holder, WorkerIndex(me));
      EXPECT_NE(failure.reason.find("is not what its hash says"), std::string::npos);
    }
    EXPECT_TRUE(me != 0 || !link.failures.empty()) << "it serves the workers of the other host";
    EXPECT_EQ(worker.generator_state.counts.updates, 0);
    EXPECT_EQ(worker.generator_state.moments()[0].data()[0], 0.0F);
    for (const NetworkState* state : {&worker.generator_state, &worker.discriminator_state}) {
      EXPECT_TRUE(at::isfinite(state->parameter(0)).all().item<bool>());
    }
  });
}

TEST_F(SnapshotLoaderTest, RefusesASnapshotThatIsGone) {
  EXPECT_THROW(on_workers({.run = folder("a"), .snapshot_parts = 1},
                          [](int, Worker&, SnapshotService&, Parts&) {}),
               CheckpointError);
}

}  // namespace
}  // namespace gangway::worker
