// SPDX-License-Identifier: MIT
#include "coordinator/io/own_place.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/this_host.hpp"

namespace gangway::coordinator {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string networks_of_the_hosts() {
  const std::string for_data = environment("OMPI_MCA_btl_tcp_if_include");
  return for_data.empty() ? environment("OMPI_MCA_oob_tcp_if_include") : for_data;
}

std::string with_interfaces(const std::string& addresses) {
  std::vector<std::string> named;
  const std::vector<OwnAddress> own = own_addresses();
  for (const std::string& address : split_at_commas(addresses)) {
    if (address.starts_with("127.") && addresses != address) {
      continue;  // a loopback address serves only this host's workers
    }
    const auto found = std::ranges::find(own, address, &OwnAddress::address);
    named.push_back(found == own.end() ? address
                                       : fmt::format("{} ({})", address, found->interface));
  }
  return fmt::format("{}", fmt::join(named, ", "));
}

bool all_ranks_are_here() {
  const std::string ranks = environment("OMPI_COMM_WORLD_SIZE");  // mpirun's; srun sets none
  return ranks.empty() ? environment("SLURM_STEP_NUM_NODES") == "1"
                       : ranks == environment("OMPI_COMM_WORLD_LOCAL_SIZE");
}

}  // namespace gangway::coordinator
