// SPDX-License-Identifier: MIT
// Finds the user at the other end of a connection inside this host from /proc/net/tcp (proc(5)).
// Reads no disk. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <sys/types.h>

namespace gangway::coordinator {

/// @param table  /proc/net/tcp or tcp6
/// @param local, remote  in that file's format: "0100007F:1F90"
/// @return the user of the established connection from `local` to `remote`
[[nodiscard]] std::optional<uid_t> owner_in(std::string_view table, std::string_view local,
                                            std::string_view remote);

/// Returns the user at the other end; nothing if that is on another host or the connection is no
/// longer established.
[[nodiscard]] std::optional<uid_t> peer_owner(const boost::asio::ip::tcp::socket& socket);

}  // namespace gangway::coordinator
