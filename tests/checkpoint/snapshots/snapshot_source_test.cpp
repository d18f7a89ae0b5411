// SPDX-License-Identifier: MIT
#include "checkpoint/snapshots/snapshot_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/format/manifest.hpp"
#include "checkpoint/format/worker_file.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/verify.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"
#include "tests/checkpoint/snapshots/sample_snapshots.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shared_folder.hpp"

namespace gangway::checkpoint {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Saves the state of a worker that owns everything, from its snapshot.
std::filesystem::path save(const std::filesystem::path& checkpoints, SnapshotMemory& memory) {
  const std::int64_t step = ids_in(memory).front().step;
  const auto pinned = memory.pin(step);
  const auto temporary = begin_checkpoint(checkpoints, step);
  const FileReport report = write_worker_pieces(temporary, {.step = step}, pinned->records());
  Manifest manifest = sample_manifest(step);
  manifest.epoch = 0;
  manifest.files = {
      {.name = report.name, .worker = 0, .bytes = report.bytes, .xxh3_128 = report.xxh3_128}};
  return commit_checkpoint(temporary, manifest);
}

std::vector<TensorStretch> whole_pieces() {
  std::vector<TensorStretch> pieces = sample_pieces();
  pieces[1].end = 720;  // completes the tensor together with the first piece
  pieces[2].begin = 0;
  return pieces;
}

TEST(SnapshotSource, RepairsACheckpointOfItsStep) {
  const gangway::testing::SharedFolder shared;
  const gangway::testing::ScratchFolder folder;
  SnapshotMemory memory(sample_place(shared.path()), whole_pieces());
  ASSERT_TRUE(take_sample(memory, {.step = 5}));
  const auto path = save(folder.path(), memory);
  ASSERT_THAT(find_damage(path), IsEmpty());
  const std::string name = (path / worker_file_name(0, 1)).string();
  std::string bytes = read_text(name);
  bytes[4096 + 100] ^= 1;
  write_text(name, bytes);
  ASSERT_THAT(find_damage(path), SizeIs(1));
  std::vector<SnapshotFile> parts;
  parts.emplace_back(find_sample(shared.path()).at(0).file);
  const RepairResult result = repair_checkpoint(path, elements_of(std::move(parts)));
  EXPECT_THAT(result.repaired, SizeIs(1));
  EXPECT_THAT(result.left, IsEmpty());
  EXPECT_EQ(verify_checkpoint(path).step, 5);
}

TEST(SnapshotSource, OfAnotherStepIsNotBelieved) {
  const gangway::testing::SharedFolder shared;
  const gangway::testing::ScratchFolder folder;
  SnapshotMemory memory(sample_place(shared.path()), whole_pieces());
  ASSERT_TRUE(take_sample(memory, {.step = 5}));
  const auto path = save(folder.path(), memory);
  const std::string name = (path / worker_file_name(0, 1)).string();
  std::string bytes = read_text(name);
  bytes[4096 + 100] ^= 1;
  write_text(name, bytes);
  ASSERT_TRUE(take_sample(memory, {.step = 6}));
  std::vector<SnapshotFile> parts;
  parts.emplace_back(find_sample(shared.path()).at(0).file);
  EXPECT_THAT(repair_checkpoint(path, elements_of(std::move(parts))).left, SizeIs(1));
}

}  // namespace
}  // namespace gangway::checkpoint
