// SPDX-License-Identifier: MIT
#include "base/this_host.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <memory>

#include <arpa/inet.h>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

namespace gangway {
namespace {

namespace ip = boost::asio::ip;

struct FreeInterfaces {
  void operator()(ifaddrs* list) const noexcept { freeifaddrs(list); }
};

bool is_usable(const ifaddrs& entry) {
  return entry.ifa_addr != nullptr && entry.ifa_addr->sa_family == AF_INET &&
         (entry.ifa_flags & IFF_UP) != 0 && (entry.ifa_flags & IFF_LOOPBACK) == 0;
}

/// Whether `word`, an interface or subnet, contains this address.
bool means(const std::string& word, const OwnAddress& own) {
  if (word == own.interface) {
    return true;
  }
  boost::system::error_code error;
  const ip::network_v4 subnet = ip::make_network_v4(word, error);
  const ip::address_v4 address = ip::make_address_v4(own.address);
  return !error &&
         ip::network_v4(address, subnet.prefix_length()).canonical() == subnet.canonical();
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                          : std::string("unknown");
}

std::vector<OwnAddress> own_addresses() {
  std::vector<OwnAddress> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    return found;
  }
  const std::unique_ptr<ifaddrs, FreeInterfaces> owned(list);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    std::array<char, INET_ADDRSTRLEN> text{};
    if (is_usable(*entry) &&
        inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr,
                  text.data(), text.size()) != nullptr) {
      found.push_back({.interface = entry->ifa_name, .address = text.data()});
    }
  }
  return found;
}

std::vector<OwnAddress> on_networks(const std::vector<OwnAddress>& addresses,
                                    std::string_view networks) {
  const std::vector<std::string> words = split_at_commas(networks);
  std::vector<OwnAddress> chosen;
  std::ranges::copy_if(addresses, std::back_inserter(chosen), [&](const OwnAddress& own) {
    return std::ranges::any_of(words, [&](const std::string& word) { return means(word, own); });
  });
  return chosen.empty() ? addresses : chosen;
}

bool is_loopback(std::string_view host) {
  const auto is_same = [](unsigned char left, unsigned char right) {
    return std::tolower(left) == right;
  };
  return std::ranges::equal(host, std::string_view("localhost"), is_same) || host == "::1" ||
         host == "[::1]" ||
         (host.starts_with("127.") &&
          host.find_first_not_of("0123456789.") == std::string_view::npos);
}

std::vector<std::string> split_at_commas(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

}  // namespace gangway
