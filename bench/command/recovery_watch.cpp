// SPDX-License-Identifier: MIT
#include "bench/command/recovery_watch.hpp"

#include <charconv>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/time.hpp"
#include "report/log_file.hpp"
#include "run/restart_file.hpp"
#include "run/run_files.hpp"

namespace gangway::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook{2};
constexpr std::chrono::seconds kPatience{120};  // then it hangs
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr std::string_view kTick = "tick ";

pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; file >> word;) {
    if (word == "PPid:") {
      pid_t parent = 0;
      file >> parent;
      return parent;
    }
  }
  return 0;
}

}  // namespace

RecoveryWatch::RecoveryWatch(fs::path run, std::stop_token stop)
    : run_(std::move(run)), stop_(std::move(stop)) {}

std::optional<std::string> RecoveryWatch::next_line() {
  if (rest_.find('\n') == std::string::npos) {
    std::ifstream log(run_ / kLogsFolder / report::log_file_name(0));
    log.seekg(static_cast<std::streamoff>(offset_));
    const std::string more{std::istreambuf_iterator<char>(log), {}};
    offset_ += more.size();
    rest_ += more;
  }
  const std::size_t end = rest_.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = rest_.substr(0, end);
  rest_.erase(0, end + 1);
  constexpr std::string_view kLevel = "info: ";  // behind time, rank and thread
  const std::size_t level = line.find(kLevel);
  line.erase(0, level == std::string::npos ? 0 : level + kLevel.size());
  if (line.starts_with(kTick)) {  // one a step
    std::from_chars(line.data() + kTick.size(), line.data() + line.size(), step_);
  }
  return line;
}

std::optional<RecoveryWatch::Clock::time_point> RecoveryWatch::wait_for_line(
    const std::string& begin) {
  const auto end = Clock::now() + kPatience;
  while (!stop_.stop_requested() && Clock::now() < end) {
    if (const auto line = next_line()) {
      if (line->starts_with(begin)) {
        return Clock::now();
      }
    } else {
      std::this_thread::sleep_for(kLook);
    }
  }
  return std::nullopt;
}

bool RecoveryWatch::wait_for_steps(std::int64_t steps) {
  const std::int64_t last = step_ + steps;
  while (step_ < last) {
    if (!wait_for_line(std::string(kTick))) {
      return false;
    }
  }
  return true;
}

std::optional<pid_t> RecoveryWatch::process_of(const std::string& kind, int rank) const {
  const auto text = read_small_file(run_ / kPlacementFile, kMostBytes);
  const auto placement = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!placement.is_object() || placement["ranks"].size() < 2) {
    return std::nullopt;
  }
  const auto& ranks = placement["ranks"];
  // A host that was lost twice is left out, and its workers with it.
  const std::size_t worker = 1 + static_cast<std::size_t>(rank - 1) % (ranks.size() - 1);
  const auto pid = ranks.at(kind == "worker" ? worker : 0)["pid"].get<pid_t>();
  return kind == "mpirun" ? parent_of(pid) : pid;
}

std::optional<Recovery> RecoveryWatch::kill_and_watch(const std::string& kind, int rank) {
  const auto pid = process_of(kind, rank);
  if (!pid) {
    return std::nullopt;
  }
  Recovery recovery{.kind = kind};
  const std::size_t losses = read_restarts(run_).size();
  while (next_line()) {  // what was done before the kill
  }
  auto last = Clock::now();
  const auto part = [&](Clock::time_point now) { return seconds(now - std::exchange(last, now)); };
  ::kill(*pid, SIGKILL);
  while (read_restarts(run_).size() == losses) {
    if (stop_.stop_requested() || Clock::now() - last > kPatience) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kLook);
  }
  recovery.fence = part(Clock::now());
  while (next_line()) {
  }
  const std::int64_t reached = step_;
  double* const parts[] = {&recovery.start, &recovery.restore, &recovery.first_step};
  const char* const lines[] = {"gangway ", "resume ", "tick "};
  for (std::size_t index = 0; index < 3; ++index) {
    const auto seen = wait_for_line(lines[index]);
    if (!seen) {
      return std::nullopt;
    }
    *parts[index] = part(*seen);
  }
  recovery.redone = reached - step_ + 1;
  if (step_ <= reached && !wait_for_steps(reached - step_ + 1)) {
    return std::nullopt;
  }
  recovery.replay = part(Clock::now());
  return recovery;
}

}  // namespace gangway::bench
