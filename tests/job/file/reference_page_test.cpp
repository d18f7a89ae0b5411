// SPDX-License-Identifier: MIT
#include "job/file/reference_page.hpp"

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "job/schema/key.hpp"

namespace gangway {
namespace {

TEST(ReferencePage, InTheRepositoryIsCurrent) {
  EXPECT_EQ(read_small_file("docs/job-file.md", 1U << 20U), reference_page())
      << "run: gangway-job-reference --write docs/job-file.md";
}

TEST(ReferencePage, NamesEveryKey) {
  const std::string page = reference_page();
  for (const Key& key : key_table()) {
    EXPECT_NE(page.find("`" + key.path + "`"), std::string::npos) << key.path;
  }
}

TEST(ReferencePage, BeginsWithFortyKeys) {
  const std::string page = reference_page();
  int rows = 0;
  for (auto at = page.find("\n| [`"); at != std::string::npos; at = page.find("\n| [`", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, 40);
}

}  // namespace
}  // namespace gangway
