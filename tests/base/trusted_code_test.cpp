// SPDX-License-Identifier: MIT
#include "base/system/trusted_code.hpp"

#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/system/open_files.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrustedCode : public ::testing::Test {
 protected:
  TrustedCode() {
    file_ = folder_.write("mine/library.so", "code");
    set_mode(file_, 0644);
    set_mode(file_.parent_path(), 0755);
  }
  static void set_mode(const fs::path& path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  const testing::ScratchFolder folder_;
  fs::path file_;
};

TEST_F(TrustedCode, IsWhatNobodyElseCanWriteTo) {
  EXPECT_THAT(why_not_trusted(file_), IsEmpty());
  EXPECT_NO_THROW(require_trusted(file_));
  EXPECT_THAT(why_not_trusted(folder_.path() / "none"), IsEmpty());
}

TEST_F(TrustedCode, IsNoFileThatOthersCanWriteTo) {
  set_mode(file_, 0646);
  EXPECT_THAT(why_not_trusted(file_),
              AllOf(HasSubstr(file_.string() + " can be written to by everybody"),
                    HasSubstr("(mode 0646)")));
  try {
    require_trusted(file_);
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--trust"));
  }
  ::setenv(kTrustVariable, "1", /*overwrite=*/1);
  EXPECT_NO_THROW(require_trusted(file_));
  ::unsetenv(kTrustVariable);
}

TEST_F(TrustedCode, IsNoFileThatOthersCanReplace) {
  set_mode(file_.parent_path(), 0757);
  EXPECT_THAT(why_not_trusted(file_), HasSubstr(file_.parent_path().string() + " can be written"));
  set_mode(file_.parent_path(), 01777);  // sticky as /tmp: other users cannot replace the file
  EXPECT_THAT(why_not_trusted(file_), IsEmpty());
}

TEST_F(TrustedCode, IsNoFileThatALinkOfOthersLeadsTo) {
  const fs::path shared = folder_.path() / "shared";
  fs::create_directory(shared);
  fs::create_symlink("../mine/library.so", shared / "link.so");
  EXPECT_THAT(why_not_trusted(shared / "link.so"), IsEmpty());
  set_mode(file_.parent_path(), 0757);  // folder of the link's target
  EXPECT_THAT(why_not_trusted(shared / "link.so"), HasSubstr("mine can be written"));
  set_mode(file_.parent_path(), 0755);
  set_mode(shared, 0757);  // folder of the link
  EXPECT_THAT(why_not_trusted(shared / "link.so"), HasSubstr("shared can be written"));
  EXPECT_THAT(why_not_trusted(shared / "../mine/library.so"), HasSubstr("shared can be written"));
}

TEST_F(TrustedCode, EndsWhereLinksLeadInACircle) {
  fs::create_symlink("b", folder_.path() / "a");
  fs::create_symlink("a", folder_.path() / "b");
  EXPECT_THAT(why_not_trusted(folder_.path() / "a"), HasSubstr("leads nowhere"));
}

TEST_F(TrustedCode, IsNothingThatOthersCanStillMake) {
  set_mode(folder_.path(), 0755);
  EXPECT_THAT(why_not_trusted(folder_.path() / "e/nets.py"), IsEmpty());
  set_mode(folder_.path(), 01777);  // sticky as /tmp: another user could still create it
  EXPECT_THAT(why_not_trusted(folder_.path() / "e/nets.py"),
              HasSubstr("/e cannot be looked at (No such file or directory)"));
  set_mode(folder_.path(), 0700);
}

TEST_F(TrustedCode, BelongsToTheCallerOrRoot) {
  EXPECT_THAT(why_not_trusted("/etc/passwd"), IsEmpty());
  if (::geteuid() == 0) {  // only root can give a file away
    ASSERT_EQ(::lchown(file_.c_str(), 65'534, 65'534), 0);
    EXPECT_THAT(why_not_trusted(file_), HasSubstr("library.so belongs to user 65534"));
  }
}

TEST(OpenFiles, AreAsManyAsTheAdministratorAllows) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  raise_open_files();
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 1'048'576));
}

}  // namespace
}  // namespace gangway
