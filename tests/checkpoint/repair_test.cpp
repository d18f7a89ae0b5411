// SPDX-License-Identifier: MIT
#include "checkpoint/tools/repair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "checkpoint/files/crc32c.hpp"
#include "checkpoint/format/names.hpp"
#include "checkpoint/store/commit.hpp"
#include "checkpoint/store/verify.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A checkpoint with several chunks per file, and another checkpoint of the same state.
class Repair : public ::testing::Test {
 protected:
  Repair() {
    state.push_back(make_tensor("large", ElementType::kF32, {1'300'000}, 1));
    state.push_back(make_tensor("large.images", ElementType::kF32, {16, 33, 25, 25}, 2));
    checkpoint = commit_in_pieces(folder.path() / "a", state, sample_manifest(3), 2);
  }

  void damage(const fs::path& file, std::size_t at) const {
    std::string content = read_text(file);
    content[at] = static_cast<char>(content[at] ^ 4);
    write_text(file, content);
  }
  bool is_sound() const {
    return checkpoint_error_of([this] { (void)verify_checkpoint(checkpoint); }).empty();
  }
  fs::path file(int worker) const { return checkpoint / worker_file_name(worker, 2); }

  ScratchFolder folder{"/dev/shm"};
  std::vector<OwnedTensor> state = sample_state(3);
  fs::path checkpoint;
};

TEST_F(Repair, FindsNothingWhereNothingIsWrong) { EXPECT_THAT(find_damage(checkpoint), IsEmpty()); }

TEST_F(Repair, NamesEveryDamagedChunk) {
  damage(file(0), 100);
  damage(file(1), kChunkBytes + 5);
  const std::vector<DamagedChunk> found = find_damage(checkpoint);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].file, 0);
  EXPECT_EQ(found[1].file, 1);
  EXPECT_EQ(found[1].index, 1U);
  EXPECT_THAT(found[1].line,
              HasSubstr("worker-0001-of-0002.safetensors: chunk 1 (bytes 4194304 to "));
}

TEST_F(Repair, TakesTheBytesFromACopy) {
  const fs::path copy = folder.path() / "copy";
  fs::copy(checkpoint, copy, fs::copy_options::recursive);
  const std::string before = read_text(file(1));
  damage(file(1), kChunkBytes + 5);
  damage(file(1), 17);
  const RepairResult result = repair_checkpoint(checkpoint, elements_of(copy));
  EXPECT_THAT(result.repaired, SizeIs(2));
  EXPECT_THAT(result.left, IsEmpty());
  EXPECT_EQ(read_text(file(1)), before);
  EXPECT_TRUE(is_sound());
}

TEST_F(Repair, TakesTheBytesFromAnotherLayout) {
  Manifest manifest = sample_manifest(3);
  const fs::path temporary = write_parts(
      folder.path() / "b", state, 3, [](std::size_t i) { return static_cast<int>(i % 3); },
      manifest);
  const fs::path other = commit_checkpoint(temporary, manifest);  // whole tensors, row-major
  damage(file(0), 5000);
  damage(file(1), kChunkBytes + 5);
  EXPECT_THAT(repair_checkpoint(checkpoint, elements_of(other)).repaired, SizeIs(2));
  EXPECT_TRUE(is_sound());
}

TEST_F(Repair, BringsBackAFileThatIsGoneOrCutOff) {
  const fs::path copy = folder.path() / "copy";
  fs::copy(checkpoint, copy, fs::copy_options::recursive);
  fs::remove(file(0));
  fs::resize_file(file(1), 5000);
  const RepairResult result = repair_checkpoint(checkpoint, elements_of(copy));
  EXPECT_THAT(result.left, IsEmpty());
  EXPECT_TRUE(is_sound());
}

TEST_F(Repair, NeverWritesWhatWasNotThere) {
  // A checkpoint of another step has other values under the same names.
  std::vector<OwnedTensor> later = state;
  for (OwnedTensor& tensor : later) {
    if (!tensor.bytes.empty()) {
      tensor.bytes.back() ^= std::byte{1};
    }
  }
  const fs::path other = commit_in_pieces(folder.path() / "b", later, sample_manifest(4), 2);
  damage(file(1), kChunkBytes + 5);
  const std::string before = read_text(file(1));
  const RepairResult result = repair_checkpoint(checkpoint, elements_of(other));
  EXPECT_THAT(result.repaired, IsEmpty());
  EXPECT_THAT(result.left, SizeIs(1));
  EXPECT_EQ(read_text(file(1)), before);
  EXPECT_FALSE(fs::exists(checkpoint / repair_name(worker_file_name(1, 2))));
}

TEST_F(Repair, LeavesAChunkThatNobodyHas) {
  damage(file(0), 20);
  const ElementSource none = [](const StoredTensor&, std::uint64_t, std::uint64_t,
                                std::span<std::byte>) { return false; };
  // The header shares its chunk with tensors, so it cannot be restored without them.
  EXPECT_THAT(repair_checkpoint(checkpoint, none).left, SizeIs(1));
}

TEST_F(Repair, NeedsAManifestAndChunkSums) {
  EXPECT_THAT(checkpoint_error_of([] { (void)find_damage("tests/checkpoint/samples/format-1"); }),
              HasSubstr("is of format 1, which has no sums of chunks"));
  damage(checkpoint / kManifestName, 100);
  EXPECT_THROW((void)find_damage(checkpoint), CheckpointError);
}

}  // namespace
}  // namespace gangway::checkpoint
