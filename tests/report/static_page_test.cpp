// SPDX-License-Identifier: MIT
#include "report/page/static_page.hpp"

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page/page_files.hpp"

namespace gangway::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StaticPage, HasAllInsideAndAsksForNothing) {
  const std::string page = static_page(R"({"run": 1})", "a < b");
  EXPECT_THAT(page, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(page,
              HasSubstr(R"(<script type="application/json" id="document">{"run": 1}</script>)"));
  for (const char* word : {"src=\"", "rel=\"stylesheet\"", "\nimport ", "\nexport ", "https://"}) {
    EXPECT_THAT(page, Not(HasSubstr(word))) << word;
  }
}

TEST(StaticPage, LetsNoTextOfARunEndItsElement) {
  const std::string page =
      static_page(R"({"log": ["</script><script>alert(1)</script><!--"]})", "");
  EXPECT_THAT(page, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cscript>alert(1)"));
}

TEST(StaticPage, JoinsModules) {
  EXPECT_EQ(joined_module(
                "import { a } from \"./a.js\";\nexport function b() {\n  a();\n}\nconst c = 1;"),
            "function b() {\n  a();\n}\nconst c = 1;");
}

/// What joining needs: docs/run-page.md.
TEST(PageFiles, ImportOnlyWhatComesBeforeAndShareNoNames) {
  std::set<std::string> files;
  std::set<std::string> names;
  const std::regex import("import [^;]*from \"\\./([a-z_]+\\.js)\";");
  const std::regex name("(?:export )?(?:async )?(?:const|let|function|class) (\\w+)");
  for (const EmbeddedFile& file : embedded_files()) {
    std::istringstream lines{std::string(file.content)};
    for (std::string line; file.name.ends_with(".js") && std::getline(lines, line);) {
      std::smatch found;
      if (line.starts_with("import")) {
        ASSERT_TRUE(std::regex_match(line, found, import)) << file.name << ": " << line;
        EXPECT_TRUE(files.contains(found[1])) << file.name << " comes before " << found[1];
      } else if (std::regex_search(line, found, name, std::regex_constants::match_continuous)) {
        EXPECT_TRUE(names.insert(found[1]).second) << file.name << ": " << found[1] << " twice";
      }
    }
    files.insert(std::string(file.name));
  }
  EXPECT_TRUE(files.contains("main.js"));
}

}  // namespace
}  // namespace gangway::report
