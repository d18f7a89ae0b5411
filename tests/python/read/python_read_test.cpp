// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "python/read/python_home.hpp"
#include "python/read/python_sources.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

constexpr const char* kLibraryName = "lib/libpython3.11.so.1.0";
constexpr const char* kPackages = "lib/python3.11/site-packages/";

/// Makes an environment of empty files, and the torch library that a program would have loaded.
class PythonHomes : public ::testing::Test {
 protected:
  void write_all() const {
    folder_.write("bin/python", "");
    folder_.write(kLibraryName, "");
    for (const char* file : {"__init__.py", "lib/libtorch_cpu.so", "lib/libtorch_python.so"}) {
      folder_.write(std::string(kPackages) + "torch/" + file, "");
    }
  }
  [[nodiscard]] std::string complaint(const fs::path& torch) const {
    try {
      (void)find_python(folder_.path().string(), {}, torch);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  const gangway::testing::ScratchFolder folder_;
  const gangway::testing::ScratchFolder other_;
  const fs::path own_ = folder_.path() / kPackages / "torch";
};

TEST_F(PythonHomes, AreFoundByTheirFolderTheirInterpreterAndTheirTorch) {
  write_all();
  for (const std::string& chosen :
       {folder_.path().string(), (folder_.path() / "bin/python").string(), std::string()}) {
    const PythonHome home = find_python(chosen, {}, own_);
    EXPECT_EQ(home.executable, folder_.path() / "bin/python");
    EXPECT_EQ(home.library, folder_.path() / kLibraryName);
    EXPECT_EQ(home.torch, own_);
  }
  EXPECT_EQ(find_python("", {{"VIRTUAL_ENV", folder_.path().string()}}, own_).torch, own_);
}

TEST_F(PythonHomes, MayBeVirtualAndHaveTheLibraryOfTheirBase) {
  write_all();
  fs::remove(folder_.path() / kLibraryName);
  folder_.write("pyvenv.cfg",
                "version = 3.11.2\nhome = " + (other_.path() / "bin").string() + "\n");
  const fs::path library = other_.write(kLibraryName, "");
  EXPECT_EQ(find_python(folder_.path().string(), {}, own_).library, library);
}

TEST_F(PythonHomes, MayHaveTheirTorchWhereAFileOfPathsNamesIt) {
  write_all();
  fs::rename(own_, other_.path() / "torch");
  folder_.write(std::string(kPackages) + "more.pth",
                "# paths\nimport sys\n\nnowhere\n" + other_.path().string() + "\r\n");
  EXPECT_EQ(find_python(folder_.path().string(), {}, other_.path() / "torch").torch,
            other_.path() / "torch");
}

TEST_F(PythonHomes, OfAnotherKindAreRefused) {
  EXPECT_THAT(complaint(own_), HasSubstr("has no bin/python"));
  write_all();
  // Empty files have no build id, so only the same file counts as the same build.
  EXPECT_THAT(complaint(other_.write("torch/lib/libtorch_cpu.so", "").parent_path().parent_path()),
              HasSubstr("its PyTorch is another build"));
  fs::remove_all(own_);
  EXPECT_THAT(complaint(own_), HasSubstr("has no PyTorch"));
  fs::remove(folder_.path() / kLibraryName);
  EXPECT_THAT(complaint(own_), HasSubstr("there is no libpython3.11.so.1.0"));
  folder_.write("lib/python3.12/site-packages/a.py", "");
  fs::remove_all(folder_.path() / "lib/python3.11");
  EXPECT_THAT(complaint(own_), HasSubstr("is Python 3.12, and this needs 3.11"));
  fs::permissions(folder_.path() / "bin/python", fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(complaint(own_), HasSubstr("can be written to by everybody"));
}

TEST(ElfBuildId, IsThatOfTheLinker) {
  EXPECT_EQ(elf_build_id("/etc/passwd"), "");
  EXPECT_THAT(elf_build_id("/proc/self/exe"), MatchesRegex("([0-9a-f]{40})?"));
  EXPECT_THAT(elf_build_id("/usr/lib/x86_64-linux-gnu/libc.so.6"), MatchesRegex("[0-9a-f]{40}"));
}

TEST(PythonImports, AreFoundWhereverStatementsBegin) {
  EXPECT_THAT(
      imports_in(R"(# import comment
"""import text
import text2"""
import one, two.three as t; import four
from five import (six,
                  seven as s)  # and so on
from . import eight
from ..nine.ten import *
def forward(x):
    if x: import eleven
    from twelve \
        import thirteen
    yield from fourteen
raise ValueError from fifteen
text = f'import {sixteen}'
imported = "\"import seventeen"
)"),
      UnorderedElementsAre("one", "two.three", "four", "five", "five.six", "five.seven", ".",
                           ".eight", "..nine.ten", "eleven", "twelve", "twelve.thirteen"));
}

}  // namespace
}  // namespace gangway
