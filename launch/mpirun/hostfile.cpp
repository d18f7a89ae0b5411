// SPDX-License-Identifier: MIT
#include "launch/mpirun/hostfile.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include "base/atomic_file.hpp"
#include "base/errors.hpp"
#include "base/text/parse_number.hpp"
#include "base/this_host.hpp"

namespace gangway::launch {
namespace {

constexpr std::size_t kMaxHostfileBytes = std::size_t{1} << 20U;
constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kSlots = "slots";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

/// Cuts `text` behind the first of `ends`, and returns the part before it.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::size_t end = std::min(text.find_first_of(ends), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

int parse_slots(std::string_view value, std::string_view line) {
  const auto slots = parse_number<int>(value);
  if (!slots || *slots < 0) {
    throw ConfigError(fmt::format("hostfile: '{}': slots= needs a number of at least 0", line));
  }
  return *slots;
}

/// Returns nullopt for a line without a host.
std::optional<Host> parse_line(std::string_view line) {
  std::string_view rest = trimmed(line.substr(0, line.find('#')));
  if (rest.empty()) {
    return std::nullopt;
  }
  Host host{.name = std::string(take_until(rest, kBlank)), .slots = 1};
  // Open MPI allows blanks around the equals sign.
  while (!rest.empty()) {
    const std::string_view key = trimmed(take_until(rest, "="));
    rest = trimmed(rest);
    const std::string_view value = take_until(rest, kBlank);
    rest = trimmed(rest);
    if (key == kSlots) {
      host.slots = parse_slots(value, line);
    }
  }
  return host;
}

bool is_number(std::string_view name) {
  return name.find_first_not_of("0123456789.:") == std::string_view::npos;
}

std::string_view short_name(std::string_view name) {
  return is_number(name) ? name : name.substr(0, name.find('.'));
}

/// Includes loopback: /etc/hosts may map a host's own name to 127.0.1.1.
bool is_own(const in_addr& address) {
  constexpr std::uint32_t kLoopbackNetwork = 127;
  std::array<char, INET_ADDRSTRLEN> text{};
  return ntohl(address.s_addr) >> 24U == kLoopbackNetwork ||
         (::inet_ntop(AF_INET, &address, text.data(), text.size()) != nullptr &&
          std::ranges::any_of(own_addresses(),
                              [&](const OwnAddress& own) { return own.address == text.data(); }));
}

bool resolves_to_this_host(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) {
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (is_own(reinterpret_cast<const sockaddr_in*>(entry->ai_addr)->sin_addr)) {
      return true;
    }
  }
  return false;
}

void put_coordinator_first(std::vector<Host>& hosts,
                           const std::function<bool(const std::string&)>& is_this_host) {
  const auto own = std::ranges::find_if(hosts, is_this_host, &Host::name);
  if (own != hosts.end()) {
    std::rotate(hosts.begin(), own, own + 1);
  }
}

}  // namespace

std::vector<Host> parse_hostfile(std::string_view text) {
  std::vector<Host> hosts;
  while (!text.empty()) {
    const auto line = parse_line(take_until(text, "\n"));
    if (!line) {
      continue;
    }
    const auto known = std::ranges::find(hosts, line->name, &Host::name);
    if (known == hosts.end()) {
      hosts.push_back(*line);
    } else {
      known->slots += line->slots;
    }
  }
  if (hosts.empty()) {
    throw ConfigError(
        "the hostfile names no host: write one host per line, as in 'node-a slots=8'");
  }
  if (count_slots(hosts) == 0) {
    throw ConfigError("the hostfile has no slot for a worker: give some, as in 'node-a slots=8'");
  }
  return hosts;
}

std::vector<Host> read_hostfile(const std::filesystem::path& path) {
  const auto text = read_small_file(path, kMaxHostfileBytes);
  if (!text) {
    throw ConfigError(fmt::format("--hostfile {}: no such file", path.string()));
  }
  return parse_hostfile(*text);
}

int count_slots(const std::vector<Host>& hosts) {
  int slots = 0;
  for (const Host& host : hosts) {
    slots += host.slots;
  }
  return slots;
}

std::string hostfile_with_coordinator(std::vector<Host> hosts,
                                      const std::function<bool(const std::string&)>& is_this_host) {
  put_coordinator_first(hosts, is_this_host);
  ++hosts.front().slots;
  std::string text;
  for (const Host& host : hosts) {
    text += host.slots > 0 ? fmt::format("{} slots={}\n", host.name, host.slots) : "";
  }
  return text;
}

std::vector<std::string> hosts_of_workers(
    std::vector<Host> hosts, int workers,
    const std::function<bool(const std::string&)>& is_this_host) {
  put_coordinator_first(hosts, is_this_host);
  std::vector<std::string> names;
  for (const Host& host : hosts) {
    const int left = workers - static_cast<int>(names.size());
    names.insert(names.end(), static_cast<std::size_t>(std::clamp(left, 0, host.slots)), host.name);
  }
  return names;
}

std::vector<Host> hosts_without(std::vector<Host> hosts, int workers, const std::set<Rank>& ranks,
                                const std::function<bool(const std::string&)>& is_this_host) {
  put_coordinator_first(hosts, is_this_host);
  int next = 0;
  for (Host& host : hosts) {
    const int end = std::min(next + host.slots, workers);
    const auto lost = static_cast<int>(std::ranges::count_if(ranks, [&](Rank rank) {
      return next <= worker_of(rank).value() && worker_of(rank).value() < end;
    }));
    host.slots = lost > 0 && lost == end - next ? 0 : host.slots - lost;
    next = end;
  }
  return hosts;
}

bool is_this_host(const std::string& name) {
  const std::string host = name.substr(name.find('@') + 1);  // the whole name if it has no @
  const std::string own = host_name();
  return host == "localhost" || host == own || short_name(host) == short_name(own) ||
         resolves_to_this_host(host);
}

}  // namespace gangway::launch
