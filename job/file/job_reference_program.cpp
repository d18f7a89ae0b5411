// SPDX-License-Identifier: MIT
// gangway-job-reference [--write FILE]: prints docs/job-file.md, or writes it.
#include <cstdio>
#include <string_view>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "job/file/reference_page.hpp"

int main(int argc, char** argv) {
  const std::string page = gangway::reference_page();
  if (argc == 1) {
    std::fputs(page.c_str(), stdout);
    return 0;
  }
  if (argc != 3 || std::string_view(argv[1]) != "--write") {
    std::fputs("usage: gangway-job-reference [--write FILE]\n", stderr);
    return static_cast<int>(gangway::ExitCode::kUsage);
  }
  try {
    gangway::write_file_atomically(argv[2], page);
  } catch (const gangway::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
