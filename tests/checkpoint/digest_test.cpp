// SPDX-License-Identifier: MIT
#include "checkpoint/tools/digest.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "checkpoint/store/commit.hpp"
#include "tests/checkpoint/sample_checkpoint.hpp"

namespace gangway::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string digest_of(const std::vector<OwnedTensor>& state, int num_workers,
                      const Sharding& sharding, const std::function<void(Manifest&)>& change = {}) {
  const ScratchFolder folder;
  Manifest manifest = sample_manifest(5);
  if (change) {
    change(manifest);
  }
  const fs::path temporary = write_parts(folder.path(), state, num_workers, sharding, manifest);
  return digest(commit_checkpoint(temporary, manifest));
}

int all_on_first(std::size_t /*index*/) { return 0; }

TEST(Digest, DoesNotDependOnWhichWorkerHoldsWhat) {
  const std::vector<OwnedTensor> state = sample_state(5);
  const std::string one = digest_of(state, 1, all_on_first);
  EXPECT_TRUE(is_hash(one));
  for (const int workers : {2, 3, 4, 7, 12}) {
    EXPECT_EQ(
        digest_of(state, workers, [&](std::size_t i) { return static_cast<int>(i) % workers; }),
        one)
        << workers;
    EXPECT_EQ(digest_of(state, workers, all_on_first), one) << workers;
  }
  std::vector<OwnedTensor> reversed(state.rbegin(), state.rend());
  EXPECT_EQ(digest_of(reversed, 1, all_on_first), one);
}

TEST(Digest, DoesNotDependOnTheMembershipOrTheClock) {
  const std::string one = digest_of(sample_state(5), 1, all_on_first);
  EXPECT_EQ(digest_of(sample_state(5), 1, all_on_first,
                      [](Manifest& manifest) {
                        manifest.epoch = 9;
                        manifest.created = "2030-01-01T00:00:00Z";
                        manifest.software = {};
                      }),
            one);
}

TEST(Digest, ChangesWithNumericsStepNameTypeShapeAndEveryBit) {
  const std::vector<OwnedTensor> state = sample_state(5);
  std::vector<std::string> digests = {digest_of(state, 1, all_on_first)};
  digests.push_back(digest_of(state, 1, all_on_first,
                              [](Manifest& manifest) { manifest.numerics = "threads=2"; }));
  digests.push_back(
      digest_of(state, 1, all_on_first, [](Manifest& manifest) { manifest.step = 6; }));
  for (const auto& change : std::vector<std::function<void(OwnedTensor&)>>{
           [](OwnedTensor& tensor) { tensor.name += "x"; },
           [](OwnedTensor& tensor) { tensor.type = ElementType::kI32; },
           [](OwnedTensor& tensor) { std::swap(tensor.shape[0], tensor.shape[1]); },
           [](OwnedTensor& tensor) { tensor.bytes.back() ^= std::byte{0x80}; }}) {
    std::vector<OwnedTensor> changed = state;
    change(changed[0]);
    digests.push_back(digest_of(changed, 1, all_on_first));
  }
  std::sort(digests.begin(), digests.end());
  EXPECT_EQ(std::unique(digests.begin(), digests.end()), digests.end());
}

TEST(Digest, OfAFixedStateIsThisForEver) {
  // If this digest changes, its meaning has changed: raise its version and say so in
  // docs/checkpoint-format.md.
  const std::vector<OwnedTensor> state = {
      {.name = "a", .type = ElementType::kU8, .shape = {2}, .bytes = {std::byte{1}, std::byte{2}}}};
  const auto le = [](std::uint64_t number) {
    std::string text;
    for (unsigned i = 0; i < 8; ++i) {
      text += static_cast<char>((number >> (8U * i)) & 0xffU);
    }
    return text;
  };
  const std::string numerics = sample_manifest(5).numerics;
  const std::string expected = le(14) + "gangway-digest" + le(1) + le(numerics.size()) + numerics +
                               le(5) +  //
                               le(1) + "a" + le(2) + "U8" + le(1) + le(2) + "\x01\x02";
  EXPECT_EQ(digest_of(state, 1, all_on_first), hash_of(expected));
}

TEST(Digest, OfADamagedCheckpointDoesNotExist) {
  const ScratchFolder folder;
  const fs::path path = commit_sample(folder.path(), 1);
  fs::remove(path / worker_file_name(1, 2));
  EXPECT_THROW((void)digest(path), CheckpointError);
}

}  // namespace
}  // namespace gangway::checkpoint
