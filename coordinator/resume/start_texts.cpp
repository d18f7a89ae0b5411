// SPDX-License-Identifier: MIT
#include "coordinator/resume/start_texts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text/aligned_text.hpp"
#include "report/table.hpp"

namespace gangway::coordinator {

std::string parameter_counts(const JobSpec& job, const messages::Ready& ready) {
  std::string text;
  for (std::size_t i = 0; i < std::min(ready.parameters.size(), job.networks.size()); ++i) {
    text +=
        fmt::format("{}{} {}{}", i == 0 ? "" : ", ", job.networks[static_cast<NetworkId>(i)].name,
                    ready.parameters[i], i == 0 ? " parameters" : "");
  }
  return text;
}

std::string placement_table(const std::vector<PlacedRank>& ranks) {
  report::Table table({{.title = "rank", .align = Align::kRight},
                       {.title = "host"},
                       {.title = "device"},
                       {.title = "role"},
                       {.title = "micro-batches"},
                       {.title = "pid", .align = Align::kRight}});
  for (const PlacedRank& rank : ranks) {
    const bool works = rank.microbatches.size() > 0;
    table.add_row(
        {std::to_string(rank.rank), rank.host, rank.device.empty() ? "-" : rank.device, rank.role,
         works ? fmt::format("{}-{}", rank.microbatches.begin, rank.microbatches.end - 1) : "-",
         std::to_string(rank.pid)});
  }
  std::string text = table.text();
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

}  // namespace gangway::coordinator
