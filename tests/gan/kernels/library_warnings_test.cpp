// SPDX-License-Identifier: MIT
#include "gan/kernels/library_warnings.hpp"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::gan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(LibraryWarnings, AreToldOnceEachAndNotPrinted) {
  std::vector<std::string> told;
  ::testing::internal::CaptureStderr();
  {
    LibraryWarnings warnings([&told](const std::string& line) { told.push_back(line); });
    warnings.listen();
    for (int again = 0; again < 3; ++again) {
      TORCH_WARN("an old\nlayout");
    }
    TORCH_WARN("another");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(told, ElementsAre(AllOf(StartsWith("LibTorch warns: an old layout ("
                                                 "library_warnings_test.cpp:"),
                                      EndsWith(")")),
                                StartsWith("LibTorch warns: another")));
}

TEST(LibraryWarnings, WaitForSomebodyWhoListens) {
  std::vector<std::string> told;
  LibraryWarnings warnings;
  warnings.listen();
  TORCH_WARN("early");
  EXPECT_THAT(told, IsEmpty());
  warnings.tell_to([&told](const std::string& line) { told.push_back(line); });
  EXPECT_THAT(told, ElementsAre(StartsWith("LibTorch warns: early")));
}

TEST(LibraryWarnings, OfEachThreadThatHasSaidSoComeToOneHandler) {
  std::vector<std::string> told;
  LibraryWarnings warnings([&told](const std::string& line) { told.push_back(line); });
  const auto warn = [&warnings] {
    warnings.listen();
    TORCH_WARN("of a thread");
  };
  std::thread(warn).join();
  std::thread(warn).join();
  EXPECT_THAT(told, ElementsAre(StartsWith("LibTorch warns: of a thread")));
}

TEST(LibraryWarnings, GoWhereTheyWentBeforeOnceItIsGone) {
  { LibraryWarnings().listen(); }
  ::testing::internal::CaptureStderr();
  TORCH_WARN("to the terminal");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("to the terminal"));
}

}  // namespace
}  // namespace gangway::gan
