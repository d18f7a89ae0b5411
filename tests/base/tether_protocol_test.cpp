// SPDX-License-Identifier: MIT
#include "run/tether_protocol.hpp"

#include <gtest/gtest.h>

#include "run/liveness/greeting.hpp"
#include "run/tether.hpp"

namespace gangway {
namespace {

TEST(Greeting, IsReadBackAsItIsWritten) {
  const GreetingAddress address{.hosts = "10.0.0.1,127.0.0.1", .port = 4711, .token = "secret"};
  EXPECT_EQ(parse_address(address_text(address)), address);
  const TetherGreeting rank{
      .rank = Rank(3), .process = own_process(), .job = 0xabc0001, .host = "node-a"};
  const auto said = parse_greeting(
      greeting_line({.rank = Rank(3), .words = tether_words(rank)}, "secret"), "secret");
  ASSERT_TRUE(said);
  const auto read = parse_tether_words(said->rank, said->words);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rank, Rank(3));
  EXPECT_EQ(read->process, own_process());
  EXPECT_EQ(read->job, 0xabc0001U);
  EXPECT_EQ(read->host, "node-a");
  EXPECT_EQ(parse_greeting(greeting_line({.rank = Rank(7)}, "secret"), "secret")->words, "");
}

TEST(Greeting, IsRefusedWhereItIsNone) {
  for (const char* text : {"", "host", "host:1", ":1:token", "host:port:token", "host:70000:token",
                           "host:1:token:more"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
  for (const char* line : {"", "\n", "gangway secret 1", "gangway wrong 1\n", "gangway secret x\n",
                           "gangway secret 1x 2\n", "gangway secret \n", "gangway secret\n",
                           "gangways secret 1\n", "gangway secre 1\n", "gangway secrets 1\n"}) {
    EXPECT_FALSE(parse_greeting(line, "secret")) << line;
  }
  for (const char* words : {"", "2 3 ns boot 4", "2 3 ns boot 4 host more", "x 3 ns boot 4 host",
                            "2 3 ns boot x host"}) {
    EXPECT_FALSE(parse_tether_words(Rank(1), words)) << words;
  }
}

TEST(Tether, IsHandedOnAsOneArgument) {
  const InheritedTether found =
      inherited_tether({"program", "job.yaml", tether_argument({.socket = 5, .launcher = 1234})});
  EXPECT_EQ(found.socket, 5);
  EXPECT_EQ(found.launcher, 1234);
  EXPECT_EQ(inherited_tether({"program"}).socket, -1);
}

}  // namespace
}  // namespace gangway
