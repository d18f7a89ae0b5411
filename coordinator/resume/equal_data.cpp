// SPDX-License-Identifier: MIT
#include "coordinator/resume/equal_data.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gangway::coordinator {

std::string first_difference(const DataFiles& one, const DataFiles& other) {
  const auto differ = std::ranges::mismatch(one.marks, other.marks);
  if (differ.in1 == one.marks.end()) {
    return {};
  }
  const auto next = differ.in1 + 1;
  return next == one.marks.end()
             ? fmt::format("{} or a file after it", differ.in1->first)
             : fmt::format("{} or a file between it and {}", differ.in1->first, next->first);
}

std::string other_data(const std::string& one, const std::string& another,
                       const std::string& first_difference) {
  return fmt::format(
      "{} sees other examples than {}{}{}: data.source must be the same on every host, byte by "
      "byte",
      one, another, first_difference.empty() ? "" : "; the first file that differs is ",
      first_difference);
}

std::string data_warning(const checkpoint::Manifest& before, const messages::Ready& ready,
                         std::string_view since) {
  if (before.data_fingerprint == ready.data_fingerprint ||
      before.data_fingerprint == ready.data.earlier_fingerprint) {
    return {};
  }
  std::vector<std::string> changed;
  for (const ChangedFile& file : ready.data.changed) {
    if (file.noticed >= before.created) {
      changed.push_back(file.name);
    }
  }
  return fmt::format(
      "warn  the data have changed since {}{}{}{}: from here on the run computes other numbers",
      since, changed.empty() ? "" : " (for example ", fmt::join(changed, ", "),
      changed.empty() ? "" : ")");
}

}  // namespace gangway::coordinator
