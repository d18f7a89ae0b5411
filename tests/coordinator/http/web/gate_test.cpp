// SPDX-License-Identifier: MIT
#include "coordinator/http/web/gate.hpp"

#include <gtest/gtest.h>

namespace gangway::coordinator {
namespace {

const std::string kToken(64, 'a');
const std::string kOther = std::string(63, 'a') + "b";

const std::string kSession(64, 'c');

Gate gate() { return {kToken, "gangway-80", kSession}; }

TEST(Gate, LetsTheOwnerInUnderALocalName) {
  EXPECT_EQ(gate().admit(Peer::kOwner, {.host = "localhost:8080"}), Admission::kYes);
  EXPECT_EQ(gate().admit(Peer::kOwner, {.host = "evil.example"}), Admission::kForeignHost);
  EXPECT_EQ(gate().admit(Peer::kOwner, {}), Admission::kForeignHost);
}

TEST(Gate, WantsTheTokenOfEverybodyElse) {
  EXPECT_EQ(gate().admit(Peer::kStranger, {.host = "localhost"}), Admission::kNoToken);
  const std::string bearer = "Bearer " + kToken;
  const std::string lower = "bearer " + kToken;
  const std::string cookie = "x=1; gangway-80=" + kSession;
  const std::string query = "a=b&token=" + kToken;
  EXPECT_EQ(gate().admit(Peer::kStranger, {.authorization = bearer}), Admission::kYes);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.authorization = lower}), Admission::kYes);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.cookie = cookie}), Admission::kYes);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.query = query}), Admission::kYesByQuery);
}

TEST(Gate, TakesNoOtherToken) {
  const std::string bearer = "Bearer " + kOther;
  const std::string basic = "Basic " + kToken;
  const std::string cookie = "gangway-81=" + kSession;
  const std::string token_as_cookie = "gangway-80=" + kToken;
  const std::string longer = "token=" + kToken + "a";
  EXPECT_EQ(gate().admit(Peer::kStranger, {.authorization = bearer}), Admission::kNoToken);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.authorization = basic}), Admission::kNoToken);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.authorization = kToken}), Admission::kNoToken);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.cookie = cookie}), Admission::kNoToken);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.cookie = token_as_cookie}), Admission::kNoToken);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.query = "token=" + kSession}), Admission::kNoToken);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.query = longer}), Admission::kNoToken);
  EXPECT_EQ(gate().admit(Peer::kStranger, {.query = "token="}), Admission::kNoToken);
}

TEST(Gate, KeepsItsCookieFromScriptsAndOtherSites) {
  const std::string cookie = "gangway-80=" + kSession + "; Path=/; HttpOnly; SameSite=Strict";
  EXPECT_EQ(gate().set_cookie(CookieScope::kAnything), cookie);
  EXPECT_EQ(gate().set_cookie(CookieScope::kTlsAlone), cookie + "; Secure");
}

TEST(LocalHost, IsANameThatNobodyElseCanHave) {
  for (const char* local :
       {"localhost", "LocalHost:80", "127.0.0.1", "127.8.8.8:1", "[::1]", "[::1]:80"}) {
    EXPECT_TRUE(is_local_host(local)) << local;
  }
  for (const char* other : {"", ":80", "localhost.example", "127.example", "127.0.0.1.example:80",
                            "::1", "[::2]", "10.0.0.1", "[::1", "example"}) {
    EXPECT_FALSE(is_local_host(other)) << other;
  }
}

TEST(QueryValue, IsThatOfTheWholeName) {
  EXPECT_EQ(query_value("a=1&rank=2&b=3", "rank"), "2");
  EXPECT_EQ(query_value("xrank=2", "rank"), "");
  EXPECT_EQ(query_value("rank", "rank"), "");
  EXPECT_EQ(query_value("&&rank=7", "rank"), "7");
}

}  // namespace
}  // namespace gangway::coordinator
