// SPDX-License-Identifier: MIT
// Keys of the data loader: data.threads and data.cache, which change no number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::problems_of;
using testing::spec_of;

std::string printed_cache(const std::string& said) {
  const std::string yaml = load_job(testing::sources_of("", {"data.cache=" + said})).yaml;
  const std::size_t begin = yaml.find("cache: ") + std::string("cache: ").size();
  return yaml.substr(begin, yaml.find('\n', begin) - begin);
}

TEST(DataKeys, SayWhatMayBeKeptAsASize) {
  EXPECT_EQ(spec_of("").data.cache, 0);
  EXPECT_EQ(spec_of("data: {cache: auto}").data.cache, DataSpec::kAutoCache);
  EXPECT_EQ(spec_of("data: {cache: 20G}").data.cache, std::int64_t{20} << 30);
  for (const char* said : {"off", "auto", "7K", "512M", "20G", "3T"}) {
    EXPECT_EQ(printed_cache(said), said);
  }
  EXPECT_EQ(printed_cache("2048M"), "2G");
}

TEST(DataKeys, RefuseASizeWithoutAUnit) {
  for (const char* wrong : {"20", "0G", "-1G", "G", "20GB", "99999999999G", "[1]"}) {
    EXPECT_THAT(problems_of("", {std::string("data.cache=") + wrong}),
                ElementsAre(HasSubstr("expected off, auto or a size such as 512M or 20G")))
        << wrong;
  }
}

TEST(DataKeys, LeaveTheThreadsToTheMachine) {
  EXPECT_EQ(spec_of("").data.threads, 0);
  EXPECT_EQ(spec_of("data: {threads: auto}").data.threads, 0);
  EXPECT_EQ(spec_of("data: {threads: 8}").data.threads, 8);
}

}  // namespace
}  // namespace gangway
