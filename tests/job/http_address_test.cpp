// SPDX-License-Identifier: MIT
#include "job/http_address.hpp"

#include <gtest/gtest.h>

#include "tests/job/job_problems.hpp"

namespace gangway {
namespace {

TEST(HttpAddress, IsAPortAnAddressOrBoth) {
  EXPECT_EQ(parse_http_address("8080"), (HttpAddress{.host = "127.0.0.1", .port = 8080}));
  EXPECT_EQ(parse_http_address("localhost:80"), (HttpAddress{.host = "127.0.0.1", .port = 80}));
  EXPECT_EQ(parse_http_address("10.0.0.7"), (HttpAddress{.host = "10.0.0.7", .port = 0}));
  EXPECT_EQ(parse_http_address("10.0.0.7:65535"), (HttpAddress{.host = "10.0.0.7", .port = 65535}));
  EXPECT_EQ(parse_http_address("[::]:8080"), (HttpAddress{.host = "::", .port = 8080}));
  EXPECT_EQ(parse_http_address("[::1]"), (HttpAddress{.host = "::1", .port = 0}));
}

TEST(HttpAddress, IsNothingElse) {
  for (const char* wrong :
       {"", "yes", "0", "65536", "-1", "10.0.0", "10.0.0.7:", "10.0.0.7:0", "10.0.0.7:80x",
        "host:80", "[::1", "[::1]80", "::1", "[10.0.0.7]:80", ":80", " 80", "10.0.0.7:80:90"}) {
    EXPECT_FALSE(parse_http_address(wrong)) << wrong;
  }
}

TEST(HttpAddress, SaysWhetherOthersReachIt) {
  for (const char* own : {"127.0.0.1", "127.9.9.9", "[::1]", "80"}) {
    EXPECT_FALSE(parse_http_address(own)->is_open_to_others()) << own;
  }
  for (const char* open : {"0.0.0.0", "[::]", "10.0.0.7", "1.127.0.1"}) {
    EXPECT_TRUE(parse_http_address(open)->is_open_to_others()) << open;
  }
}

TEST(HttpAddress, IsCheckedInTheJobFile) {
  const auto http_of = [](const std::string& given) {
    return testing::spec_of("", {"output.http=" + given, "output.http_plain=true"}).output.http;
  };
  EXPECT_EQ(testing::spec_of("").output.http, "auto");
  for (const char* right : {"auto", "off", "8080", "10.0.0.7:80"}) {
    EXPECT_EQ(http_of(right), right);
  }
  EXPECT_EQ(http_of("'[::]:80'"), "[::]:80");
}

}  // namespace
}  // namespace gangway
