// SPDX-License-Identifier: MIT
#include "comm/host/agree_on_hosts.hpp"

#include <algorithm>

#include "comm/host/exchange_words.hpp"

namespace gangway::comm {

std::vector<int> agree_on_hosts(Transport& transport, std::uint64_t identity,
                                std::chrono::milliseconds timeout) {
  const std::vector<std::uint64_t> identities =
      exchange_words(transport, identity, "which workers share a host", timeout);
  std::vector<int> hosts;
  for (const std::uint64_t one : identities) {
    hosts.push_back(static_cast<int>(std::ranges::find(identities, one) - identities.begin()));
  }
  return hosts;
}

}  // namespace gangway::comm
