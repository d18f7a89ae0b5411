// SPDX-License-Identifier: MIT
// Makes an LMDB of files for tests in Python: their names, a line each of standard input, are the
// keys.
//
//   write_lmdb FOLDER
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/gan/data/archives/lmdb_file.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 1) {
    std::cerr << "usage: write_lmdb FOLDER\n";
    return 2;
  }
  std::vector<gangway::testing::LmdbPair> pairs;
  for (std::string name; std::getline(std::cin, name);) {
    std::ifstream file(name, std::ios::binary);
    pairs.emplace_back(name, std::string(std::istreambuf_iterator<char>(file), {}));
  }
  gangway::testing::write_lmdb(arguments[0], pairs);
  return 0;
}
