// SPDX-License-Identifier: MIT
#include "coordinator/http/web/peer_owner.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <unistd.h>

namespace gangway::coordinator {
namespace {

using boost::asio::ip::tcp;

constexpr std::string_view kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 1\n"
    "   1: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2\n"
    "   2: 0100007F:9C41 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0\n"
    "   3: 0100007F:9C42 0100007F:1F90 01\n";

TEST(PeerOwner, IsTheUserOfTheEstablishedConnection) {
  EXPECT_EQ(owner_in(kTable, "0100007F:9C40", "0100007F:1F90"), uid_t{1000});
}

/// The kernel names root as the owner of connections whose process is gone.
TEST(PeerOwner, IsNobodyWhereTheConnectionIsNotEstablished) {
  EXPECT_FALSE(owner_in(kTable, "0100007F:9C41", "0100007F:1F90"));
}

TEST(PeerOwner, IsNobodyWhereTheTableSaysNothing) {
  EXPECT_FALSE(owner_in(kTable, "0100007F:1F90", "0100007F:9C40"));
  EXPECT_FALSE(owner_in(kTable, "0100007F:9C42", "0100007F:1F90"));
  EXPECT_FALSE(owner_in("", "0100007F:9C40", "0100007F:1F90"));
}

TEST(PeerOwner, IsThisUserOnALiveConnection) {
  boost::asio::io_context io;
  for (const char* address : {"127.0.0.1", "::1"}) {
    tcp::acceptor acceptor(io);
    boost::system::error_code error;
    const tcp::endpoint endpoint(boost::asio::ip::make_address(address), 0);
    acceptor.open(endpoint.protocol(), error);
    acceptor.bind(endpoint, error);
    if (error) {
      continue;  // a host without IPv6
    }
    acceptor.listen();
    tcp::socket client(io);
    client.connect(acceptor.local_endpoint());
    tcp::socket served = acceptor.accept();
    EXPECT_EQ(peer_owner(served), ::geteuid()) << address;
    client.close();
    EXPECT_FALSE(peer_owner(served)) << address;
  }
}

}  // namespace
}  // namespace gangway::coordinator
