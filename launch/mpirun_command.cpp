// SPDX-License-Identifier: MIT
#include "launch/mpirun_command.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "job/errors.hpp"

namespace gangway::launch {
namespace {

constexpr std::string_view kSlots = "slots=";
// For whoever sends mpirun SIGTERM: it passes the signal on after so long, and kills after as long
// again. Its own is one second, too short to save a checkpoint. (Measured with Open MPI 4.1.4.
// SIGUSR1 is passed on at once.)
constexpr int kSecondsFromTermToKill = 10;

bool is_plain(char character) {
  constexpr std::string_view kHarmless = "%+,-./:=@_";
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') ||
         kHarmless.find(character) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) {
    return word;
  }
  std::string text = "'";
  for (const char character : word) {
    text += character == '\'' ? std::string("'\\''") : std::string(1, character);
  }
  return text + "'";
}

/// One line of a hostfile that names a host.
struct HostLine {
  std::string_view text;
  std::size_t slots_at = std::string_view::npos;  ///< where its number of slots begins
  std::size_t slots_end = 0;
  int slots = 1;
};

std::optional<HostLine> parse_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos || text[begin] == '#') {
    return std::nullopt;
  }
  HostLine line{.text = text};
  const std::size_t found = text.find(kSlots);
  if (found != std::string_view::npos) {
    const char* first = text.data() + found + kSlots.size();
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), line.slots);
    if (error != std::errc{} || line.slots < 1) {
      throw ConfigError(fmt::format("hostfile: '{}': slots= needs a number of at least 1", text));
    }
    line.slots_at = found + kSlots.size();
    line.slots_end = static_cast<std::size_t>(end - text.data());
  }
  return line;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::vector<std::string> mpirun_command(const MpirunRequest& request) {
  std::vector<std::string> words{
      "mpirun",          "--enable-recovery", "-n",  std::to_string(request.workers + 1),
      "--oversubscribe", "--bind-to",         "none"};
  const auto add = [&](std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
  };
  // The tags of exchanges go up to 2^30. Where UCX is there, Open MPI prefers its own UCX layer,
  // and that allows 2^23 - 1 only.
  add({"--mca", "pml", "ob1"});
  if (request.hostfile.empty()) {
    add({"--mca", "btl", "self,vader,tcp"});
  } else {
    add({"--hostfile", request.hostfile.string()});
  }
  add({"--mca", "odls_base_sigkill_timeout", std::to_string(kSecondsFromTermToKill)});
  add({"-x", fmt::format("OMP_NUM_THREADS={}", request.threads)});
  for (const std::string& name : request.exported_variables) {
    add({"-x", name});
  }
  add({request.program.string(), "train"});
  words.insert(words.end(), request.train_arguments.begin(), request.train_arguments.end());
  return words;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + quoted(word);
  }
  return line;
}

std::string hostfile_with_coordinator(std::string_view hostfile) {
  std::string text;
  bool found = false;
  for (const std::string_view line : lines_of(hostfile)) {
    const auto host = found ? std::nullopt : parse_line(line);
    if (!host) {
      text += std::string(line) + "\n";
      continue;
    }
    found = true;
    if (host->slots_at == std::string_view::npos) {
      text += fmt::format("{} slots={}\n", line, host->slots + 1);
    } else {
      text += fmt::format("{}{}{}\n", line.substr(0, host->slots_at), host->slots + 1,
                          line.substr(host->slots_end));
    }
  }
  if (!found) {
    throw ConfigError("the hostfile names no host: give one a line, as in 'node-a slots=8'");
  }
  return text;
}

int hostfile_slots(std::string_view hostfile) {
  int slots = 0;
  for (const std::string_view line : lines_of(hostfile)) {
    if (const auto host = parse_line(line)) {
      slots += host->slots;
    }
  }
  if (slots == 0) {
    throw ConfigError("the hostfile names no host: give one a line, as in 'node-a slots=8'");
  }
  return slots;
}

}  // namespace gangway::launch
