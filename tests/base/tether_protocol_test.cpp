// SPDX-License-Identifier: MIT
#include "run/tether_protocol.hpp"

#include <gtest/gtest.h>

#include "run/tether.hpp"

namespace gangway {
namespace {

TEST(TetherProtocol, ReadsBackWhatItWrites) {
  const auto address =
      parse_tether(tether_text({.hosts = "10.0.0.1,127.0.0.1", .port = 4711, .token = "secret"}));
  ASSERT_TRUE(address);
  EXPECT_EQ(address->hosts, "10.0.0.1,127.0.0.1");
  EXPECT_EQ(address->port, 4711);
  EXPECT_EQ(address->token, "secret");
  const auto said = parse_greeting(
      greeting_line({.rank = 3, .process = own_process(), .job = 0xabc0001, .host = "node-a"},
                    "secret"),
      "secret");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->rank, 3);
  EXPECT_EQ(said->process, own_process());
  EXPECT_EQ(said->job, 0xabc0001U);
  EXPECT_EQ(said->host, "node-a");
}

TEST(TetherProtocol, RefusesWhatIsNone) {
  for (const char* text : {"", "host", "host:1", ":1:token", "host:port:token", "host:70000:token",
                           "host:1:token:more"}) {
    EXPECT_FALSE(parse_tether(text)) << text;
  }
  for (const char* line :
       {"", "\n", "gangway-tether secret 1 2 3 ns boot 4 host",
        "gangway-tether wrong 1 2 3 ns boot 4 host\n",
        "gangway-tether secret x 2 3 ns boot 4 host\n", "gangway-tether secret 1 2 3 ns 4 host\n",
        "gangway-lifeline secret 1 2 3 ns boot 4 host\n",
        "gangway-tether secre 1 2 3 ns boot 4 host\n",
        "gangway-tether secrets 1 2 3 ns boot 4 host\n"}) {
    EXPECT_FALSE(parse_greeting(line, "secret")) << line;
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
