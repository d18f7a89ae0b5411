// SPDX-License-Identifier: MIT
#include "launch/report/operator_table.hpp"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "run/trace_steps.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OperatorSums, TakeWhatIsCalledOffItsCallerAloneOnTheSameThread) {
  const TracedThreads threads{
      {{1, 2}, {{"addmm", 2, 3}, {"linear", 0, 10}, {"copy", 3, 1}, {"linear", 20, 4}}},
      {{2, 2}, {{"addmm", 0, 5}}}};
  EXPECT_THAT(operator_sums(threads, OperatorOrder::kSelf),
              ElementsAre(OperatorSum{"linear", 2, 14, 11}, OperatorSum{"addmm", 2, 8, 7},
                          OperatorSum{"copy", 1, 1, 1}));
}

TEST(OperatorSums, AreInTheOrderThatIsAskedFor) {
  const TracedThreads threads{{{1, 2}, {{"outer", 0, 10}, {"inner", 1, 8}}}};
  EXPECT_EQ(operator_sums(threads, OperatorOrder::kSelf).front().name, "inner");
  EXPECT_EQ(operator_sums(threads, OperatorOrder::kTotal).front().name, "outer");
}

TEST(OperatorSums, OfACallerThatBeginsWithWhatItCallsAndSeemsToEndBeforeIt) {
  const TracedThreads threads{{{1, 2}, {{"inner", 0, 9}, {"outer", 0, 10}, {"late", 9, 1.5}}}};
  EXPECT_THAT(operator_sums(threads, OperatorOrder::kSelf),
              ElementsAre(OperatorSum{"inner", 1, 9, 9}, OperatorSum{"late", 1, 1.5, 1.5},
                          OperatorSum{"outer", 1, 10, 0}));
}

TEST(OperatorTable, ShowsWhatWasAllocatedWhereTheTraceHasIt) {
  const std::vector<OperatorSum> sums{{"conv", 4, 3000, 3000, 3 << 19}, {"add", 1, 1000, 1000}};
  EXPECT_THAT(operator_table(sums, 2), ::testing::ContainsRegex("75.0 % +1.500\n"));
  EXPECT_THAT(operator_lines(sums, 2), HasSubstr(R"("share":0.25,"allocated_bytes":0})"));
}

TEST(OperatorTable, ShowsTheFirstWithTheirShareOfAll) {
  const std::vector<OperatorSum> sums{{"conv", 4, 3000, 3000}, {"add", 1, 1000, 1000}};
  const std::string table = operator_table(sums, 1);
  EXPECT_THAT(table, ::testing::ContainsRegex("conv +4 +3.000 +3.000 +75.0 %"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("add")));
  EXPECT_THAT(operator_lines(sums, 2), HasSubstr(R"({"operator":"add","calls":1,"total_ms":1.0,)"));
}

class OperatorFiles : public ::testing::Test {
 protected:
  void leave(int rank, const std::string& events, const std::string& end = "\n]}\n") {
    std::filesystem::create_directories(folder_.path() / kTraceFolder);
    std::ofstream(folder_.path() / kTraceFolder / trace_file_of_rank(Rank(rank)))
        << trace_file_head(7) << events << end;
  }
  [[nodiscard]] std::string complaint() const {
    try {
      (void)read_operators(folder_.path(), {});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  }
  gangway::testing::ScratchFolder folder_;
};

TEST_F(OperatorFiles, OfAllRanksCountAndNothingElseInThem) {
  const std::string one =
      R"({"cat":"operator","dur":2.5,"name":"add","ph":"X","pid":1,"tid":2,"ts":1.0},)"
      "\n"
      R"({"cat":"compute","dur":9.0,"name":"step 1","ph":"X","pid":1,"tid":1,"ts":0.0})";
  leave(1, one);
  leave(2, R"({"cat":"operator","dur":1.0,"name":"add","ph":"X","pid":2,"tid":2,"ts":1.0})");
  EXPECT_THAT(operator_sums(read_operators(folder_.path(), {}), OperatorOrder::kSelf),
              ElementsAre(OperatorSum{"add", 2, 3.5, 3.5}));
}

TEST_F(OperatorFiles, ShowKernelsInTheirPlaceAndShapesApartWhereAsked) {
  leave(
      1,
      R"({"args":{"allocated":8,"Input Dims":[[2],[]]},"cat":"operator","dur":2,"name":"add","pid":1,"tid":2,"ts":1},)"
      "\n"
      R"({"args":{"Input Dims":[[3]]},"cat":"operator","dur":1,"name":"add","pid":1,"tid":2,"ts":4},)"
      "\n"
      R"({"args":{},"cat":"kernel","dur":5,"name":"add_kernel","pid":1,"tid":5,"ts":1})");
  const auto sums = [this](OperatorChoice choice) {
    return operator_sums(read_operators(folder_.path(), choice), OperatorOrder::kSelf);
  };
  EXPECT_THAT(sums({}), ElementsAre(OperatorSum{"add", 2, 3, 3, 8}));
  EXPECT_THAT(sums({.shapes = true}),
              ElementsAre(OperatorSum{"add [2]", 1, 2, 2, 8}, OperatorSum{"add [3]", 1, 1, 1}));
  EXPECT_THAT(sums({.kernels = true}), ElementsAre(OperatorSum{"add_kernel", 1, 5, 5}));
}

TEST_F(OperatorFiles, AreRefusedWhereThereIsNoneOrOneIsCutShort) {
  EXPECT_THAT(complaint(), HasSubstr("the run has left no trace"));
  leave(1, R"({"cat":"operator","dur":2.)", "");
  EXPECT_THAT(complaint(), HasSubstr("rank1.pt.trace.json: is no whole trace"));
}

}  // namespace
}  // namespace gangway::launch
