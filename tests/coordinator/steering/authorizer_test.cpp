// SPDX-License-Identifier: MIT
#include "coordinator/control/authorizer.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "coordinator/control/replies.hpp"

namespace gangway::coordinator {
namespace {

using std::chrono::milliseconds;

const std::string kSteer(64, 'a');
const std::string kRead(64, 'b');

grpc::StatusCode admitted(Authorizer& gate, const std::string& authorization, Permission permission,
                          TimePoint now = {}) {
  return gate.admit({.authorization = authorization, .user = {}, .peer = {}}, permission, now)
      .error_code();
}

TEST(Authorizer, LetsReadWithEitherTokenAndSteerWithOne) {
  Authorizer gate({.read = kRead, .steer = kSteer});
  EXPECT_EQ(admitted(gate, "Bearer " + kSteer, Permission::kSteer), grpc::StatusCode::OK);
  EXPECT_EQ(admitted(gate, "Bearer " + kSteer, Permission::kRead), grpc::StatusCode::OK);
  EXPECT_EQ(admitted(gate, "Bearer " + kRead, Permission::kRead), grpc::StatusCode::OK);
  EXPECT_EQ(admitted(gate, "Bearer " + kRead, Permission::kSteer),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST(Authorizer, RefusesWhoHasNoTokenOrAnother) {
  Authorizer gate({.read = kRead, .steer = kSteer});
  for (const std::string& said : {std::string(), std::string("Bearer "), kSteer, "bearer " + kSteer,
                                  "Bearer " + kSteer + "a", "Bearer " + kSteer.substr(1)}) {
    EXPECT_EQ(admitted(gate, said, Permission::kRead), grpc::StatusCode::UNAUTHENTICATED) << said;
  }
}

TEST(Authorizer, AllowsSoManyCallsASecondAndCountsNoStrangers) {
  Authorizer gate({.read = kRead, .steer = kSteer});
  TimePoint now{};
  for (int call = 0; call < 10'000; ++call) {
    (void)admitted(gate, "Bearer x", Permission::kRead, now);
  }
  int allowed = 0;
  while (admitted(gate, "Bearer " + kRead, Permission::kRead, now) == grpc::StatusCode::OK) {
    ++allowed;
  }
  EXPECT_EQ(allowed, static_cast<int>(Authorizer::kBurst));
  EXPECT_EQ(admitted(gate, "Bearer " + kRead, Permission::kRead, now),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  now += milliseconds(10);
  EXPECT_EQ(admitted(gate, "Bearer " + kRead, Permission::kRead, now), grpc::StatusCode::OK);
}

TEST(Authorizer, AReaderDoesNotStarveWhoSteers) {
  Authorizer gate({.read = kRead, .steer = kSteer});
  while (admitted(gate, "Bearer " + kRead, Permission::kRead) == grpc::StatusCode::OK) {
  }
  EXPECT_EQ(admitted(gate, "Bearer " + kSteer, Permission::kSteer), grpc::StatusCode::OK);
  EXPECT_EQ(admitted(gate, "Bearer " + kSteer, Permission::kRead), grpc::StatusCode::OK);
}

TEST(Caller, IsNamedInOnePrintableLine) {
  EXPECT_EQ(name_of(Caller{.authorization = {}, .user = "ann@node-a", .peer = "unix:"}),
            "ann@node-a by unix");
  EXPECT_EQ(name_of(Caller{.authorization = {}, .user = {}, .peer = "ipv4:127.0.0.1:7"}),
            "somebody by ipv4:127.0.0.1:7");
  EXPECT_EQ(name_of(Caller{.authorization = {}, .user = "a\nb", .peer = "unix:"}), "a?b by unix");
}

TEST(Replies, HoldWhatIsNotUtf8AsAQuestionMark) {
  EXPECT_EQ(as_utf8("a\xff\xfe b\xc3\xa9"), "a?? b\xc3\xa9");
}

TEST(Replies, ThatRefuseSayWhy) {
  wire::CommandReply reply;
  const grpc::Status status = fill(reply, {.refusal = Refusal::kNotNow, .text = "no", .step = 3});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "no");
  EXPECT_TRUE(fill(reply, {.text = "yes", .step = 3}).ok());
  EXPECT_EQ(reply.step(), 3);
}

TEST(Replies, HaveAllOfAStatus) {
  JobStatus status;
  status.phase = JobPhase::kPaused;
  status.pause = {.unix_seconds = 4.0, .by = "ann"};
  status.workers = {{.rank = Rank(1), .host = "node-\xff", .is_straggler = true}};
  status.checkpoint = {.step = 5, .age_kimg = 1.0, .age_seconds = {}};
  wire::StatusReply reply;
  fill(reply, status);
  EXPECT_EQ(reply.phase(), "paused");
  EXPECT_EQ(reply.pause().by(), "ann");
  EXPECT_EQ(reply.workers(0).host(), "node-?");
  EXPECT_TRUE(reply.workers(0).straggler());
  EXPECT_EQ(reply.checkpoint().step(), 5);
  EXPECT_FALSE(reply.checkpoint().has_age_seconds());
  EXPECT_FALSE(reply.has_seconds_left());
  wire::StatusReply parsed;
  EXPECT_TRUE(parsed.ParseFromString(reply.SerializeAsString()));
}

}  // namespace
}  // namespace gangway::coordinator
