// SPDX-License-Identifier: MIT
#include "coordinator/http/http_place.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scratch_folder.hpp"

namespace gangway::coordinator {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

fs::perms rights_of(const fs::path& path) { return fs::status(path).permissions(); }
constexpr fs::perms kOwnersOnly = fs::perms::owner_read | fs::perms::owner_write;

TEST(RunToken, IsSharedByTheStartsOfARunAndReadByItsOwnerAlone) {
  const gangway::testing::ScratchFolder run;
  const std::string token = run_secret(run.path(), kHttpTokenFile);
  EXPECT_EQ(token.size(), 64U);
  EXPECT_EQ(run_secret(run.path(), kHttpTokenFile), token);
  EXPECT_EQ(rights_of(run.path() / kHttpTokenFile), kOwnersOnly);
}

TEST(RunToken, IsAnotherOneWhereOthersMayHaveReadIt) {
  const gangway::testing::ScratchFolder run;
  const std::string token = run_secret(run.path(), kHttpTokenFile);
  fs::permissions(run.path() / kHttpTokenFile, kOwnersOnly | fs::perms::others_read);
  const std::string other = run_secret(run.path(), kHttpTokenFile);
  EXPECT_NE(other, token);
  EXPECT_EQ(rights_of(run.path() / kHttpTokenFile), kOwnersOnly);
}

TEST(RunToken, IsAnotherOneWhereTheFileHoldsNone) {
  const gangway::testing::ScratchFolder run;
  const std::string token = run_secret(run.path(), kHttpTokenFile);
  std::ofstream(run.path() / kHttpTokenFile) << "short";
  EXPECT_EQ(run_secret(run.path(), kHttpTokenFile).size(), 64U);
  std::ofstream(run.path() / kHttpTokenFile) << std::string(64, 'x');
  EXPECT_THAT(run_secret(run.path(), kHttpTokenFile), Not(HasSubstr("x")));
}

TEST(HttpPlace, TellsTheNextStartThePort) {
  const gangway::testing::ScratchFolder run;
  EXPECT_EQ(port_before(run.path()), 0);
  write_http_place(run.path(),
                   {.url = "http://a/", .token = "t", .host = "a", .port = 81, .pid = 7});
  EXPECT_EQ(port_before(run.path()), 81);
  EXPECT_EQ(rights_of(run.path() / kHttpFile), kOwnersOnly);
  EXPECT_THAT(run.read(kHttpFile), HasSubstr("http://a/?token=t"));
  remove_http_place(run.path());
  EXPECT_EQ(port_before(run.path()), 0);
}

TEST(HttpPlace, TakesNoNonsenseForAPort) {
  const gangway::testing::ScratchFolder run;
  for (const char* text : {"", "{", "[]", "{\"port\": \"x\"}"}) {
    run.write(kHttpFile, text);
    EXPECT_EQ(port_before(run.path()), 0) << text;
  }
}

}  // namespace
}  // namespace gangway::coordinator
