// SPDX-License-Identifier: MIT
// Parses the bytes of a job file to a tree of values, the first stage of the job reader. Faster
// than job_target, which also interprets the values.
#include <string_view>

#include "job/schema/yaml_tree.hpp"
#include "tests/fuzz/target.hpp"

namespace {

std::size_t count(const gangway::YamlNode& node, std::size_t depth) {
  if (depth > gangway::kYamlLimitDepth) {
    gangway::fuzz::fail("a tree was built that is too deep");
  }
  std::size_t values = 1;
  for (const gangway::YamlNode& item : node.items) {
    values += count(item, depth + 1);
  }
  for (const gangway::YamlEntry& entry : node.entries) {
    values += count(entry.value, depth + 1);
  }
  return values;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const gangway::fuzz::TimeLimit limit;
  const gangway::YamlResult result =
      gangway::read_yaml(std::string_view(reinterpret_cast<const char*>(data), size));
  if (count(result.root, 0) > gangway::kYamlLimitValues + 1) {
    gangway::fuzz::fail("a tree was built that is too large");
  }
  return 0;
}
