// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "launch/model/feature_network.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

// Two examples of FIPS 180 (NIST's "Examples with Intermediate Values", SHA-256). A million bytes
// need several reads.
TEST(Sha256, IsThatOfTheFilesBytes) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(sha256_of_file(folder.write("abc", "abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of_file(folder.write("empty", "")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of_file(folder.write("long", std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_THROW((void)sha256_of_file(folder.path() / "missing"), EnvironmentError);
}

}  // namespace
}  // namespace gangway::launch
