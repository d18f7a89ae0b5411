// SPDX-License-Identifier: MIT
#include "launch/doctor.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gangway::launch {
namespace {

TEST(Findings, AreHealthyUnlessOneIsBad) {
  std::vector<Finding> findings{{"a", Health::kGood, "1"}, {"b", Health::kNote, "2"}};
  EXPECT_TRUE(is_healthy(findings));
  findings.push_back({"c", Health::kBad, "mend it"});
  EXPECT_FALSE(is_healthy(findings));
}

TEST(Findings, CanBeReadByPrograms) {
  const auto json = nlohmann::json::parse(findings_json({{"disk", Health::kBad, "\"full\""}}));
  EXPECT_EQ(json["healthy"], false);
  EXPECT_EQ(json["findings"][0]["health"], "bad");
  EXPECT_EQ(json["findings"][0]["detail"], "\"full\"");
}

TEST(Findings, CanBeReadByPeople) {
  const std::string text = findings_text({{"disk", Health::kGood, "1 GiB"}});
  EXPECT_NE(text.find("disk  good    1 GiB"), std::string::npos) << text;
}

}  // namespace
}  // namespace gangway::launch
