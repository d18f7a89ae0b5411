// SPDX-License-Identifier: MIT
// Whose process is at the other end of a connection inside this host, as the kernel tells it
// (/proc/net/tcp, proc(5)). Reads a file of the kernel's: no disk. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <sys/types.h>

namespace gangway::coordinator {

/// @param table  /proc/net/tcp or tcp6
/// @param local, remote  as that file has them: "0100007F:1F90"
/// @return the user of the established connection from `local` to `remote`
[[nodiscard]] std::optional<uid_t> owner_in(std::string_view table, std::string_view local,
                                            std::string_view remote);

/// The user of the other end; nothing where it lies on another host, or is not established any
/// more: then the kernel names no one.
[[nodiscard]] std::optional<uid_t> peer_owner(const boost::asio::ip::tcp::socket& socket);

}  // namespace gangway::coordinator
