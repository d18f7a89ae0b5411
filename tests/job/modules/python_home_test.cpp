// SPDX-License-Identifier: MIT
#include "job/modules/python_home.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr const char* kLibraryName = "lib/libpython3.11.so.1.0";
constexpr const char* kPackages = "lib/python3.11/site-packages/";

/// Makes an environment of empty files, and the torch library that a program would have loaded.
class PythonHomes : public ::testing::Test {
 protected:
  void write_all() const {
    for (const char* file : {"bin/python", kLibraryName}) {
      folder_.write(file, "");
    }
    for (const char* file : {"__init__.py", "lib/libtorch_cpu.so", "lib/libtorch_python.so"}) {
      folder_.write(std::string(kPackages) + "torch/" + file, "");
    }
  }
  [[nodiscard]] std::string complaint(const fs::path& torch) const {
    try {
      (void)find_python(folder_.path().string(), "", torch);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  const gangway::testing::ScratchFolder folder_;
  const gangway::testing::ScratchFolder other_;
};

TEST_F(PythonHomes, AreFoundByTheirFolderTheirInterpreterAndTheirTorch) {
  write_all();
  const fs::path own = folder_.path() / kPackages / "torch";
  for (const std::string& chosen :
       {folder_.path().string(), (folder_.path() / "bin/python").string(), std::string()}) {
    const PythonHome home = find_python(chosen, "", own);
    EXPECT_EQ(home.executable, folder_.path() / "bin/python");
    EXPECT_EQ(home.library, folder_.path() / kLibraryName);
    EXPECT_EQ(home.torch, own);
  }
  EXPECT_EQ(find_python("", folder_.path().string(), own).torch, own);
}

TEST_F(PythonHomes, MayBeVirtualAndHaveTheLibraryOfTheirBase) {
  write_all();
  fs::remove(folder_.path() / kLibraryName);
  folder_.write("pyvenv.cfg",
                "version = 3.11.2\nhome = " + (other_.path() / "bin").string() + "\n");
  const fs::path library = other_.write(kLibraryName, "");
  EXPECT_EQ(find_python(folder_.path().string(), "", folder_.path() / kPackages / "torch").library,
            library);
}

TEST_F(PythonHomes, OfAnotherKindAreRefused) {
  const fs::path own = folder_.path() / kPackages / "torch";
  EXPECT_THAT(complaint(own), HasSubstr("has no bin/python"));
  write_all();
  // Empty files have no build id, so only the same file counts as the same build.
  EXPECT_THAT(complaint(other_.write("torch/lib/libtorch_cpu.so", "").parent_path().parent_path()),
              HasSubstr("its PyTorch is another build"));
  fs::remove_all(own);
  EXPECT_THAT(complaint(own), HasSubstr("has no PyTorch"));
  fs::remove(folder_.path() / kLibraryName);
  EXPECT_THAT(complaint(own), HasSubstr("there is no libpython3.11.so.1.0"));
  folder_.write("lib/python3.12/site-packages/a.py", "");
  fs::remove_all(folder_.path() / "lib/python3.11");
  EXPECT_THAT(complaint(own), HasSubstr("is Python 3.12, and this needs 3.11"));
  fs::permissions(folder_.path() / "bin/python", fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(complaint(own), HasSubstr("can be written to by everybody"));
}

TEST(ElfBuildId, IsThatOfTheLinker) {
  EXPECT_EQ(elf_build_id("/etc/passwd"), "");
  EXPECT_THAT(elf_build_id("/proc/self/exe"), MatchesRegex("([0-9a-f]{40})?"));
  EXPECT_THAT(elf_build_id("/usr/lib/x86_64-linux-gnu/libc.so.6"), MatchesRegex("[0-9a-f]{40}"));
}

}  // namespace
}  // namespace gangway
