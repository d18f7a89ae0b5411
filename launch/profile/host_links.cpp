// SPDX-License-Identifier: MIT
#include "launch/profile/host_links.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "launch/mpirun/hostfile.hpp"
#include "launch/mpirun/mpirun_command.hpp"
#include "launch/process/child.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "gangway-bench-links";
constexpr int kWorkersOfAHost = 2;  // they measure the link between them

/// Returns the program's error, or else the first words of mpirun's message box.
std::string complaint_in(const std::string& text) {
  std::string first = "no error text";
  std::istringstream lines(text);
  bool is_first = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(fmt::format("{}: ", kProgram))) {
      return line;
    }
    const bool is_talk =
        line.find_first_not_of(" -\t") != std::string::npos && !line.starts_with(comm::kLinksWord);
    if (is_first && is_talk) {
      first = line;
      is_first = false;
    }
  }
  return first;
}

}  // namespace

comm::LinkTable measure_host_links(const fs::path& hostfile, const Environment& environment) {
  std::vector<Host> hosts = read_hostfile(hostfile);
  std::erase_if(hosts, [](const Host& host) { return host.slots == 0; });
  if (hosts.size() < 2) {
    throw ConfigError(
        fmt::format("--hostfile {}: it has one host, and links are between two; leave it out",
                    hostfile.string()));
  }
  for (Host& host : hosts) {
    host.slots = std::min(host.slots, kWorkersOfAHost);
  }
  const fs::path program = program_folder() / kProgram;
  if (!fs::exists(program)) {
    throw EnvironmentError(
        fmt::format("{} is missing: build all programs (./launch/build)", program.string()));
  }
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "hostfile";
  write_file_atomically(file, hostfile_with_coordinator(hosts, is_this_host));
  const int workers = count_slots(hosts);
  let_root_use_mpirun();
  const ChildOutput said = output_of_child(command_on_hosts(
      {.workers = workers,
       .program = program,
       .hostfile = file,
       .exported_variables = exported_variables(environment)},
      {"--names",
       fmt::format("{}", fmt::join(hosts_of_workers(hosts, workers, is_this_host), ","))}));
  const std::size_t begin = said.text.find(comm::kLinksWord);
  if (said.code != 0 || begin == std::string::npos) {
    throw EnvironmentError(fmt::format(
        "--hostfile {}: the links could not be measured ({}); gangway doctor --hostfile says which "
        "host does not answer",
        hostfile.string(), complaint_in(said.text)));
  }
  const std::size_t table = begin + comm::kLinksWord.size();
  return comm::parse_link_table(
      std::string_view(said.text).substr(table, said.text.find('\n', table) - table));
}

}  // namespace gangway::launch
