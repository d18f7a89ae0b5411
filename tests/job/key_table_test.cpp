// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "job/schema/key.hpp"

namespace gangway {
namespace {

TEST(KeyTable, HasEachPathAndEachEnvironmentNameOnce) {
  std::set<std::string> paths;
  std::set<std::string> names;
  for (const Key& key : key_table()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(names.insert(environment_name(key.path)).second) << key.path;
    EXPECT_FALSE(key.description.empty()) << key.path;
    EXPECT_FALSE(key.allowed.empty()) << key.path;
  }
}

TEST(KeyTable, AcceptsItsOwnDefaults) {
  for (const Key& key : key_table()) {
    if (key.is_variant) {
      continue;
    }
    JobSpec spec;
    EXPECT_EQ(key.set(read_yaml(key.get(spec)).root, spec), "") << key.path;
    EXPECT_EQ(spec, JobSpec{}) << key.path;
  }
}

TEST(KeyTable, MarksWhatNeverChangesAWeight) {
  std::set<std::string> sections;
  for (const Key& key : key_table()) {
    if (!key.changes_weights) {
      sections.insert(key.path.substr(0, key.path.find('.')));
    }
  }
  EXPECT_EQ(sections, (std::set<std::string>{"checkpoint", "data", "evaluation", "layout", "model",
                                             "numerics", "output", "training"}));
}

TEST(KeyTable, NamesSectionsOnceInOrder) {
  const auto sections = sections_of(key_table());
  EXPECT_EQ(sections.front(), "model");
  EXPECT_NE(std::find(sections.begin(), sections.end(), "generator.optimizer.adamw"),
            sections.end());
  EXPECT_EQ(std::set<std::string>(sections.begin(), sections.end()).size(), sections.size());
}

TEST(KeyTable, DerivesEnvironmentNames) {
  EXPECT_EQ(environment_name("training.r1.gamma"), "GANGWAY_TRAINING_R1_GAMMA");
}

TEST(KeyTable, ShowsADefaultThatDependsOnOtherKeys) {
  for (const Key& key : key_table()) {
    if (key.path == "model.resolution") {
      EXPECT_EQ(default_of(key).substr(0, 16), "28 for infogan, ");
    }
    if (key.path == "training.kimg") {
      EXPECT_EQ(default_of(key), "40");
    }
  }
}

}  // namespace
}  // namespace gangway
