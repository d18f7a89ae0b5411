// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "job/file/fingerprint.hpp"
#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::problems_of;

std::vector<std::string> with_control(const std::string& address) {
  return problems_of("", {"output.control=" + address});
}

TEST(OutputRules, TakeLoopbackAndRefuseWhatOthersCanReachWithoutTls) {
  for (const char* address : {"auto", "off", "127.0.0.1:0", "localhost:50051", "'[::1]:7'"}) {
    EXPECT_THAT(with_control(address), IsEmpty()) << address;
  }
  for (const char* address :
       {"0.0.0.0:0", "node-a:50051", "127.example.org:1", "'[::]:7'", "10.0.0.1:1"}) {
    EXPECT_THAT(with_control(address), ElementsAre(HasSubstr("needs TLS"))) << address;
  }
  EXPECT_THAT(problems_of("", {"output.control=0.0.0.0:0", "output.control_certificate=a.pem",
                               "output.control_key=b.pem"}),
              IsEmpty());
}

TEST(OutputRules, RefuseWhatIsNoAddress) {
  for (const char* address : {"on", "localhost", "'127.0.0.1:'", "127.0.0.1:x", "127.0.0.1:65536",
                              "':5'", "127.0.0.1:-1"}) {
    EXPECT_THAT(with_control(address), ElementsAre(HasSubstr("no place to listen"))) << address;
  }
}

TEST(OutputRules, RefuseAPageThatShowsItsTokenToTheNetworkUnlessToldTo) {
  const auto with_page = [](const std::string& address, std::vector<std::string> words = {}) {
    words.push_back("output.http=" + address);
    return problems_of("", words);
  };
  for (const char* own : {"auto", "off", "8080", "127.0.0.1:80", "'[::1]:80'"}) {
    EXPECT_THAT(with_page(own), IsEmpty()) << own;
  }
  for (const char* open : {"0.0.0.0:8080", "10.0.0.7", "'[::]:80'"}) {
    EXPECT_THAT(with_page(open), ElementsAre(HasSubstr("in clear; set output.control_certificate")))
        << open;
    EXPECT_THAT(with_page(open, {"output.http_plain=true"}), IsEmpty()) << open;
    EXPECT_THAT(with_page(open, {"output.control_certificate=a.pem", "output.control_key=b.pem"}),
                IsEmpty())
        << open;
  }
}

TEST(OutputRules, WantACertificateWithItsKey) {
  EXPECT_THAT(problems_of("", {"output.control_key=b.pem"}),
              ElementsAre(HasSubstr("is of no use without its key")));
}

TEST(OutputRules, LeaveTheFingerprintAsItWas) {
  EXPECT_EQ(job_fingerprint(testing::spec_of("")),
            job_fingerprint(testing::spec_of("", {"output.control=off"})));
}

TEST(ScoreRules, WantADeviceThatThereIs) {
  const std::string job = "checkpoint: {keep_best: 1}\nevaluation: {where: device}\n";
  EXPECT_THAT(problems_of(job + "numerics: {device: cuda}"), IsEmpty());
  EXPECT_THAT(problems_of(job),
              ElementsAre("job.yaml:2:14: evaluation.where: device takes scores on a GPU, and "
                          "numerics.device is cpu; use beside, or spare"));
}

}  // namespace
}  // namespace gangway
