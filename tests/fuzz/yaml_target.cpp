// SPDX-License-Identifier: MIT
// The bytes of a job file, as far as a tree of values: what of the job reader sees them raw. Faster
// than job_target, which goes on to what the values mean.
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
