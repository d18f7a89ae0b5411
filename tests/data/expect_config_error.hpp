// SPDX-License-Identifier: MIT
// Checks that an error about data is one line that names the file and the remedy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::testing {

inline void expect_config_error(const std::function<void()>& action,
                                const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "no error";
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    for (const std::string& part : parts) {
      EXPECT_THAT(message, ::testing::HasSubstr(part));
    }
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find(';'), std::string::npos) << "no remedy: " << message;
  }
}

}  // namespace gangway::testing
