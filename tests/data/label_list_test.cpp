// SPDX-License-Identifier: MIT
#include "data/images/label_list.hpp"

#include <gtest/gtest.h>

#include "tests/data/expect_config_error.hpp"

namespace gangway::data {
namespace {

using gangway::testing::expect_config_error;

TEST(LabelList, ReadsPathsAndTheirLabels) {
  const auto list = parse_label_list(R"({"labels": [["0/a.png", 3], ["0/b.png", 0]], "more": 1})",
                                     "dataset.json");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(*list, (LabelList{{"0/a.png", 3}, {"0/b.png", 0}}));
}

TEST(LabelList, IsNoneWhereLabelsAreNull) {
  EXPECT_EQ(parse_label_list(R"({"labels": null})", "dataset.json"), std::nullopt);
  EXPECT_EQ(parse_label_list(R"({"labels": []})", "dataset.json"), LabelList{});
}

TEST(LabelList, ReadsALabelBesideAPicture) {
  EXPECT_EQ(parse_label(" 12\r\n", "1.cls"), 12);
  EXPECT_EQ(described_label(R"({"label": 3, "caption": "a cat"})", "1.json"), 3);
  EXPECT_EQ(described_label(R"({"caption": "a cat"})", "1.json"), std::nullopt);
  for (const std::string text : {"", " ", "a", "1 2", "-1", "1.0", "1000001", "99999999999"}) {
    expect_config_error([&] { (void)parse_label(text, "1.cls"); }, {"1.cls", "is no label"});
  }
  for (const std::string label : {"-1", "1.5", "null", "\"3\"", "1000001", "[1]"}) {
    expect_config_error([&] { (void)described_label("{\"label\": " + label + "}", "1.json"); },
                        {"1.json", "is no label"});
  }
}

TEST(LabelList, NamesWhatIsWrongAndTheRemedy) {
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"", "is no JSON"},
      {R"({"labels": [["a.png", 1])", "is no JSON"},
      {std::string(100'000, '['), "is no JSON"},
      {"[1]", "has no \"labels\""},
      {"{}", "has no \"labels\""},
      {R"({"labels": {"a.png": 1}})", "is no list"},
      {R"({"labels": [["a.png", 1], ["b.png"]]})", "entry 1 of"},
      {R"({"labels": [["a.png", 1, 2]]})", "entry 0 of"},
      {R"({"labels": [[1, "a.png"]]})", "entry 0 of"},
      {R"({"labels": [["a.png", 1.5]]})", "entry 0 of"},
      {R"({"labels": [["a.png", [0.1, 0.9]]]})", "entry 0 of"},
      {R"({"labels": [["a.png", -1]]})", "label -1 of a.png"},
      {R"({"labels": [["a.png", 99999999999]]})", "label 99999999999 of a.png"},
      {R"({"labels": [["a.png", 1], ["a.png", 1]]})", "a.png has two labels"},
  };
  for (const auto& [text, problem] : broken) {
    expect_config_error([&, &text = text] { (void)parse_label_list(text, "set!dataset.json"); },
                        {"set!dataset.json", problem, "make the file again"});
  }
}

}  // namespace
}  // namespace gangway::data
