// SPDX-License-Identifier: MIT
#include "launch/process/process_tree.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include <sys/prctl.h>
#include <unistd.h>

#include "base/text/parse_number.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

struct Process {
  pid_t parent = 0;
  Descendant self;
};

std::optional<Process> read_process(pid_t pid) {
  std::ifstream file(fs::path("/proc") / std::to_string(pid) / "stat");
  std::string line;
  std::getline(file, line);
  // The program's name may contain blanks and parentheses.
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return std::nullopt;
  }
  Process process{.self = {.pid = pid, .program = line.substr(open + 1, close - open - 1)}};
  std::istringstream rest(line.substr(close + 1));
  rest >> process.self.state >> process.parent;
  return process;
}

std::multimap<pid_t, Descendant> processes_by_parent() {
  std::multimap<pid_t, Descendant> found;
  std::error_code failure;
  for (auto entry = fs::directory_iterator("/proc", failure);
       !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    const auto pid = parse_number<pid_t>(entry->path().filename().native());
    if (const auto process = pid ? read_process(*pid) : std::nullopt) {
      found.emplace(process->parent, process->self);
    }
  }
  return found;
}

}  // namespace

std::vector<Descendant> descendants() {
  const auto by_parent = processes_by_parent();
  std::vector<Descendant> found;
  std::vector<pid_t> parents{::getpid()};
  std::set<pid_t> seen;  // prevents cycles: pids may be reused while the list is read
  while (!parents.empty()) {
    const auto [begin, end] = by_parent.equal_range(parents.back());
    parents.pop_back();
    for (auto child = begin; child != end; ++child) {
      if (!seen.insert(child->second.pid).second) {
        continue;
      }
      parents.push_back(child->second.pid);
      if (child->second.state != 'Z') {
        found.push_back(child->second);
      }
    }
  }
  return found;
}

std::optional<Rank> rank_of_process(pid_t pid) {
  constexpr std::string_view kName = "OMPI_COMM_WORLD_RANK=";
  std::ifstream file(fs::path("/proc") / std::to_string(pid) / "environ");
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.starts_with(kName)) {
      const auto rank = parse_number<int>(std::string_view(variable).substr(kName.size()));
      return rank && *rank >= 0 ? std::optional(Rank(*rank)) : std::nullopt;
    }
  }
  return std::nullopt;
}

char process_state(pid_t pid) {
  const auto process = read_process(pid);
  return process ? process->self.state : 'Z';
}

void adopt_orphans() { (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

}  // namespace gangway::launch
