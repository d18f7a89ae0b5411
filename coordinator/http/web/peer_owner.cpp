// SPDX-License-Identifier: MIT
#include "coordinator/http/web/peer_owner.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "base/text/parse_number.hpp"

namespace gangway::coordinator {
namespace {

using boost::asio::ip::tcp;

constexpr std::string_view kEstablished = "01";  // include/net/tcp_states.h

template <typename Bytes>
std::string kernel_words(const Bytes& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    text += fmt::format("{:08X}", word);
  }
  return text;
}

std::string kernel_text(const tcp::endpoint& end) {
  const auto address = end.address();
  return fmt::format("{}:{:04X}",
                     address.is_v4() ? kernel_words(address.to_v4().to_bytes())
                                     : kernel_words(address.to_v6().to_bytes()),
                     end.port());
}

}  // namespace

std::optional<uid_t> owner_in(std::string_view table, std::string_view local,
                              std::string_view remote) {
  enum Field { kLocal = 1, kRemote = 2, kState = 3, kUser = 7 };
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
    if (fields.size() > kUser && fields[kLocal] == local && fields[kRemote] == remote &&
        fields[kState] == kEstablished) {
      return parse_number<uid_t>(fields[kUser]);
    }
  }
  return std::nullopt;
}

std::optional<uid_t> peer_owner(const tcp::socket& socket) {
  boost::system::error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  const tcp::endpoint local = error ? tcp::endpoint() : socket.local_endpoint(error);
  if (error || !remote.address().is_loopback()) {
    return std::nullopt;
  }
  std::ifstream file(remote.address().is_v4() ? "/proc/net/tcp" : "/proc/net/tcp6");
  const std::string table{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return owner_in(table, kernel_text(remote), kernel_text(local));
}

}  // namespace gangway::coordinator
