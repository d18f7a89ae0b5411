// SPDX-License-Identifier: MIT
#include "report/failure_box.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"

namespace gangway::report {
namespace {

constexpr std::size_t kNameWidth = 17;
constexpr std::size_t kValueWidth = 78;

std::string utc(std::chrono::system_clock::time_point time) {
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)), milliseconds);
}

std::string ending(const Failure& failure) {
  if (failure.signal) {
    return fmt::format("killed by {}", signal_name(*failure.signal));
  }
  if (failure.exit_code) {
    return fmt::format("exit code {}", *failure.exit_code);
  }
  return failure.job_exit_code == static_cast<int>(ExitCode::kDiverged)
             ? "the training itself: no process failed"
             : "ended, cause unknown";
}

/// Splits into parts of at most kValueWidth characters, after a space if possible.
std::vector<std::string> wrap(std::string_view value) {
  std::vector<std::string> lines;
  while (value.size() > kValueWidth) {
    const std::size_t space = value.substr(0, kValueWidth).rfind(' ');
    const std::size_t length =
        space == std::string_view::npos || space == 0 ? kValueWidth : space + 1;
    lines.emplace_back(value.substr(0, length));
    value.remove_prefix(length);
  }
  lines.emplace_back(value);
  return lines;
}

nlohmann::ordered_json text_or_null(const std::string& value) {
  return value.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

nlohmann::ordered_json number_or_null(const std::optional<int>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string failure_box(const Failure& failure) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"root cause", failure.reason},
      {"rank", fmt::format("{} on {}, pid {}", failure.rank, failure.host, failure.pid)},
      {"ended by", ending(failure)},
      {"first failure", fmt::format("{}, after step {}", utc(failure.time), failure.step)},
      {"log file", failure.log_file.empty() ? "none" : failure.log_file},
      {"last checkpoint", failure.last_checkpoint.empty() ? "none yet" : failure.last_checkpoint},
      {failure.change.empty() ? "to resume" : "with a change",
       failure.resume_command.empty() ? "-" : failure.resume_command + failure.change},
  };
  const std::string rule = fmt::format("+{:-<{}}+\n", "", kNameWidth + kValueWidth + 3);
  std::string box =
      rule + fmt::format("| {:<{}} |\n", "THE JOB FAILED", kNameWidth + kValueWidth + 1) + rule;
  for (const auto& [name, value] : rows) {
    std::string title = name;
    for (const std::string& line : wrap(value)) {
      box += fmt::format("| {:<{}} {:<{}} |\n", title, kNameWidth, line, kValueWidth);
      title.clear();
    }
  }
  return box + rule;
}

std::string failure_json(const Failure& failure) {
  const nlohmann::ordered_json object = {
      {"rank", failure.rank},
      {"host", failure.host},
      {"pid", failure.pid},
      {"signal", failure.signal ? nlohmann::ordered_json(signal_name(*failure.signal))
                                : nlohmann::ordered_json(nullptr)},
      {"exit_code", number_or_null(failure.exit_code)},
      {"job_exit_code", failure.job_exit_code},
      {"reason", failure.reason},
      {"time", utc(failure.time)},
      {"step", failure.step},
      {"log_file", text_or_null(failure.log_file)},
      {"last_checkpoint", text_or_null(failure.last_checkpoint)},
      {"resume_command", text_or_null(failure.resume_command + failure.change)},
  };
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace gangway::report
