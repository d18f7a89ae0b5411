// SPDX-License-Identifier: MIT
#include "launch/mpirun/host_check.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.hpp"
#include "base/build_id.hpp"
#include "base/errors.hpp"
#include "base/shared_segment.hpp"
#include "base/system/poll_until.hpp"
#include "base/this_host.hpp"
#include "launch/process/command_list.hpp"
#include "launch/process/environment.hpp"
#include "launch/process/gpus.hpp"
#include "launch/process/temporary_folder.hpp"

namespace gangway::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMarker = ".host-check";
constexpr std::string_view kOwnLine = "gangway: ";  // prefix of error messages of main()
constexpr std::size_t kMaxMarkerBytes = 256;
constexpr std::string_view kHostLine = "gangway-host";  // prefix of the fields of CheckedHost
constexpr std::string_view kGpusLine = "gangway-gpus ";
constexpr std::chrono::seconds kHostLimit{60};   // a host behind a firewall never answers
constexpr std::chrono::seconds kAnswerLimit{4};  // at least, for hosts that were just up
constexpr int kTimesTheFirst = 3;                // a later check may take so much longer
constexpr std::size_t kAskedAlone = 8;  // maximum number of hosts with an mpirun each at once
// Maximum delay after which a network file system shows a new file.
constexpr std::chrono::seconds kMarkerPatience{5};
constexpr std::chrono::milliseconds kMarkerRetry{100};

/// Holds a marker file in the run directory during the check of the hosts.
class Marker {
 public:
  explicit Marker(const fs::path& run) : path_(run / kMarker) {
    std::random_device random;
    content_ = fmt::format("{} {:08x}{:08x}", build_id(), random(), random());
    write_file_atomically(path_, content_);
  }
  ~Marker() {
    std::error_code ignored;  // a leftover marker in the run directory is harmless
    fs::remove(path_, ignored);
  }
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;

  [[nodiscard]] std::vector<std::string> arguments() const {
    return {"check-host", path_.string(), content_};
  }

 private:
  fs::path path_;
  std::string content_;
};

/// Parses the host facts that the ranks of the check printed.
std::vector<CheckedHost> checked_hosts(const std::string& text) {
  std::vector<CheckedHost> hosts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    CheckedHost host;
    if (words >> first >> host.daemon >> host.memory >> host.name && first == kHostLine) {
      hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

std::string line_in(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

CheckedHost this_host() {
  std::error_code ignored;
  struct stat memory {};
  const std::string boot = line_in("/proc/sys/kernel/random/boot_id");
  const bool has_memory = ::stat(kSharedMemoryFolder, &memory) == 0;
  return {
      .daemon = fmt::format("{}/{}/{}", boot,
                            fs::read_symlink("/proc/self/ns/pid", ignored).string(), ::getppid()),
      .memory = has_memory ? fmt::format("{}/{}", boot, memory.st_dev) : std::string("none"),
      .name = host_name()};
}

/// Writes a hostfile with one slot for each host.
void write_hostfile(const fs::path& path, std::span<const Host> hosts) {
  std::string lines;
  for (const Host& host : hosts) {
    lines += fmt::format("{} slots=1\n", host.name);
  }
  write_file_atomically(path, lines);
}

/// Returns the error of the first host that reported one; empty: none. mpirun may insert another
/// host's facts into the middle of it.
std::string first_complaint(std::string text) {
  for (std::size_t own = text.find(kHostLine); own != std::string::npos;
       own = text.find(kHostLine)) {
    const std::size_t end = text.find('\n', own);
    text.erase(own, end == std::string::npos ? end : end + 1 - own);
  }
  const std::size_t begin = text.find(kOwnLine);
  if (begin == std::string::npos) {
    return {};
  }
  const std::size_t end = text.find('\n', begin);
  return text.substr(begin + kOwnLine.size(), end - begin - kOwnLine.size());
}

/// @param marker  file in the run directory. @param content  as written by the first host
/// @throws EnvironmentError
int check_host(const fs::path& marker, const std::string& content) {
  const std::string host = host_name();
  const std::string build = content.substr(0, content.find(' '));
  if (build != build_id()) {
    throw EnvironmentError(fmt::format(
        "{}: {} is of build {}, on the first host it is of {}: install one build on all hosts",
        host, (program_folder() / "gangway").string(), build_id(), build));
  }
  require_programs(DeviceKind::kCpu);
  if (!poll_until(kMarkerPatience, kMarkerRetry,
                  [&] { return read_small_file(marker, kMaxMarkerBytes) == content; })) {
    throw EnvironmentError(fmt::format(
        "{}: {} is not the folder that the first host sees: put the runs on a file system that all "
        "hosts share (--outdir)",
        host, marker.parent_path().string()));
  }
  const CheckedHost self = this_host();
  std::cout << fmt::format("{} {} {} {}", kHostLine, self.daemon, self.memory, self.name)
            << std::endl;
  return 0;
}

/// Prints the hosts that answer, one per line.
int print_answers(const fs::path& run, double usual, const std::vector<std::string>& names) {
  std::vector<Host> hosts;
  for (const std::string& name : names) {
    hosts.push_back({.name = name});
  }
  const auto silent = find_silent_hosts({.program = program_folder() / "gangway"}, hosts, run,
                                        std::chrono::duration<double>(usual));
  for (const std::string& name : names) {
    if (std::ranges::find(silent, name) == silent.end()) {
      std::cout << name << std::endl;
    }
  }
  return 0;
}

}  // namespace

std::chrono::duration<double> require_ready_hosts(MpirunRequest job, const fs::path& run) {
  const Marker marker(run);
  job.exported_variables.clear();  // some are only for the ranks of a job
  const auto begin = std::chrono::steady_clock::now();
  const ChildOutput output = output_within(kHostLimit, command_on_hosts(job, marker.arguments()));
  if (output.code == 0) {
    if (const auto twins = find_twins(checked_hosts(output.text))) {
      throw EnvironmentError(*twins);
    }
    return std::chrono::steady_clock::now() - begin;
  }
  if (const std::string complaint = first_complaint(output.text); !complaint.empty()) {
    throw EnvironmentError(complaint);
  }
  std::cerr << output.text << std::flush;
  throw EnvironmentError(fmt::format(
      "mpirun does not start ranks on all hosts of {}: each needs Open MPI, ssh without a password "
      "and {}, and none a firewall between them",
      job.hostfile.string(), job.program.string()));
}

std::vector<ChildOutput> run_on_each(const MpirunRequest& job, const std::vector<Host>& hosts,
                                     const std::vector<std::string>& arguments,
                                     std::chrono::seconds limit) {
  const TemporaryFolder folder;
  std::vector<std::future<ChildOutput>> answers;
  for (const Host& host : hosts) {
    MpirunRequest alone = job;
    alone.workers = 0;  // one rank
    alone.hostfile = folder.path() / std::to_string(answers.size());
    write_hostfile(alone.hostfile, {&host, 1});
    answers.push_back(
        std::async(std::launch::async, output_within, limit, command_on_hosts(alone, arguments)));
  }
  std::vector<ChildOutput> outputs;
  for (std::future<ChildOutput>& answer : answers) {
    outputs.push_back(answer.get());
  }
  return outputs;
}

std::chrono::seconds answer_limit(std::chrono::duration<double> usual) {
  return std::clamp(std::chrono::ceil<std::chrono::seconds>(kTimesTheFirst * usual), kAnswerLimit,
                    kHostLimit);
}

std::vector<std::string> find_silent_hosts(MpirunRequest job, std::vector<Host> hosts,
                                           const fs::path& run,
                                           std::chrono::duration<double> usual) {
  const Marker marker(run);
  job.exported_variables.clear();  // some are only for the ranks of a job
  const std::chrono::seconds limit = answer_limit(usual);
  if (hosts.size() > kAskedAlone) {  // an mpirun for each would keep this host busy longer
    const TemporaryFolder folder;
    MpirunRequest all = job;
    all.workers = static_cast<int>(hosts.size()) - 1;  // plus one rank
    all.hostfile = folder.path() / "hostfile";
    write_hostfile(all.hostfile, hosts);
    if (output_within(limit, command_on_hosts(all, marker.arguments())).code == 0) {
      return {};
    }
  }
  std::erase_if(hosts, [](const Host& host) { return is_this_host(host.name); });
  std::vector<std::string> silent;
  const auto answers = run_on_each(job, hosts, marker.arguments(), limit);
  for (std::size_t index = 0; index < hosts.size(); ++index) {
    if (answers[index].code != 0) {
      silent.push_back(hosts[index].name);
    }
  }
  return silent;
}

std::optional<std::string> find_twins(const std::vector<CheckedHost>& hosts) {
  for (auto one = hosts.begin(); one != hosts.end(); ++one) {
    for (auto other = std::next(one); other != hosts.end(); ++other) {
      if (one->daemon == other->daemon) {
        continue;  // two ranks on one host
      }
      if (one->name == other->name) {
        return fmt::format(
            "two hosts of the hostfile are both called {}: give each its own name (hostname), or, "
            "if it is one host, name it once; Open MPI would take them for one host and crash",
            one->name);
      }
      if (one->memory == other->memory && one->memory != "none") {
        return fmt::format(
            "hosts {} and {} share one {}: name the host once in the hostfile, or give each "
            "container a /dev/shm of its own; Open MPI would mix up their messages",
            one->name, other->name, kSharedMemoryFolder);
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string> command_that_asks(const MpirunRequest& job, const std::vector<Host>& hosts,
                                           const fs::path& run,
                                           std::chrono::duration<double> usual) {
  std::vector<std::string> words{job.program.string(), "ask-hosts", fs::absolute(run).string(),
                                 std::to_string(usual.count())};
  std::ranges::transform(hosts, std::back_inserter(words), &Host::name);
  return words;
}

int gpus_in(const std::string& said) {
  int count = 0;
  if (const std::size_t line = said.find(kGpusLine); line != std::string::npos) {
    std::istringstream(said.substr(line + kGpusLine.size())) >> count;
  }
  return count;
}

void add_host_commands(CLI::App& app, CommandLine& line) {
  struct HostCheckOptions {
    fs::path marker;
    std::string content;
    fs::path run;
    double usual = 0;
    std::vector<std::string> hosts;
  };
  const auto options = std::make_shared<HostCheckOptions>();
  CLI::App* command = app.add_subcommand("check-host")->group("");
  command->add_option("marker", options->marker)->required();
  command->add_option("content", options->content)->required();
  command->callback([options, &line] {
    line.action = [options] { return check_host(options->marker, options->content); };
  });
  app.add_subcommand("count-gpus")->group("")->callback([&line] {
    line.action = [] {
      std::cout << fmt::format("{}{}", kGpusLine, num_gpus()) << std::endl;
      return 0;
    };
  });
  CLI::App* ask = app.add_subcommand("ask-hosts")->group("");
  ask->add_option("run", options->run)->required();
  ask->add_option("usual", options->usual)->required();
  ask->add_option("hosts", options->hosts)->required();
  ask->callback([options, &line] {
    line.action = [options] { return print_answers(options->run, options->usual, options->hosts); };
  });
}

}  // namespace gangway::launch
