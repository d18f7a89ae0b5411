// SPDX-License-Identifier: MIT
#include "coordinator/http/web/web_server.hpp"

#include <functional>
#include <future>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.hpp"

namespace gangway::coordinator {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kLargeBytes = std::size_t{32} << 20U;  // exceeds the kernel's buffers

/// Runs a server on its own thread, as the coordinator does.
class Server {
 public:
  explicit Server(WebLimits limits = {})
      : server_(
            io_, WebPlace(),
            [this](const WebRequest& request, const Reply& reply) { handle(request, reply); },
            limits) {
    thread_ = std::jthread([this] {
      server_.start();
      io_.run();
    });
  }
  ~Server() { io_.stop(); }

  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  /// Calls `ask` on the server's thread and waits for its result.
  template <typename Ask>
  auto ask(Ask ask) {
    std::promise<decltype(ask(server_, ring_))> promise;
    boost::asio::post(io_, [&] { promise.set_value(ask(server_, ring_)); });
    return promise.get_future().get();
  }

 private:
  void handle(const WebRequest& request, const Reply& reply) {
    if (request.path == "/events") {
      reply(WebEvents{.ring = &ring_, .after = ring_.before_newest()});
    } else if (request.path == "/large") {
      reply(WebDocument{.body = large_});
    } else if (request.path == "/same") {
      WebDocument document = plain_answer(200, "same");
      document.etag = "\"1\"";
      reply(document);
    } else if (request.path != "/never") {
      reply(plain_answer(200, request.path + "?" + request.query));
    }
  }

  boost::asio::io_context io_;
  EventRing ring_{"ring"};
  SharedText large_ = std::make_shared<const std::string>(kLargeBytes, 'x');
  WebServer server_;
  std::jthread thread_;
};

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(io_) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }
  void say(const std::string& words) { boost::asio::write(socket_, boost::asio::buffer(words)); }
  /// Reads until the other end closes.
  std::string rest() {
    std::string text;
    error_code ended;
    boost::asio::read(socket_, boost::asio::dynamic_buffer(text), ended);
    return text;
  }
  std::string until(const std::string& end) {
    std::string text;
    boost::asio::read_until(socket_, boost::asio::dynamic_buffer(text), end);
    return text;
  }

 private:
  boost::asio::io_context io_;
  tcp::socket socket_;
};

std::string get(const std::string& path, const std::string& more = "Connection: close\r\n") {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n";
}

std::string answer_to(const Server& server, const std::string& words) {
  Client client(server.port());
  client.say(words);
  return client.rest();
}

TEST(WebServer, AnswersOneRequestAfterTheOtherOnAConnection) {
  const Server server;
  Client client(server.port());
  client.say(get("/a?b=1", "") + get("/c"));
  const std::string said = client.rest();
  EXPECT_THAT(said, HasSubstr("/a?b=1\n"));
  EXPECT_THAT(said, HasSubstr("/c?\n"));
}

TEST(WebServer, RefusesInALineWhatItDoesNotUnderstand) {
  const Server server;
  EXPECT_THAT(answer_to(server, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(
      answer_to(server, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(server, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(server, get("/", "X: " + std::string(9000, 'x') + "\r\n")),
              StartsWith("HTTP/1.1 431 "));
}

TEST(WebServer, SaysThatNothingHasChanged) {
  const Server server;
  const std::string said =
      answer_to(server, get("/same", "If-None-Match: \"1\"\r\nConnection: close\r\n"));
  EXPECT_THAT(said, StartsWith("HTTP/1.1 304 "));
  EXPECT_TRUE(said.ends_with("\r\n\r\n"));
}

TEST(WebServer, TellsEventsAsTheyCome) {
  Server server;
  Client client(server.port());
  client.say(get("/events"));
  (void)client.until("retry: 2000\n\n");
  for (const char* data : {"1", "2"}) {
    server.ask([data](WebServer& web, EventRing& ring) {
      ring.push("tick", data, EventWorth::kEach);
      web.pump();
      return 0;
    });
  }
  EXPECT_THAT(client.until("data: 2\n\n"), HasSubstr("data: 1\n\n"));
}

TEST(WebServer, ClosesWhoAsksTooSlowlyAndWhoGetsNoAnswer) {
  const Server server({.request = std::chrono::milliseconds(50),
                       .answer = std::chrono::milliseconds(50),
                       .sweep = std::chrono::milliseconds(10)});
  EXPECT_EQ(answer_to(server, "GET / HT"), "");
  EXPECT_EQ(answer_to(server, ""), "");
  EXPECT_EQ(answer_to(server, get("/never")), "");
}

TEST(WebServer, DropsWhoDoesNotReadItsAnswer) {
  Server server({.write = std::chrono::milliseconds(50),
                 .slowest_bytes_per_second = 1e9,
                 .sweep = std::chrono::milliseconds(10)});
  Client client(server.port());
  client.say(get("/large"));
  const auto is_dropped = [](WebServer& web, EventRing& /*ring*/) {
    return web.num_requests() > 0 && web.num_connections() == 0;
  };
  while (!server.ask(is_dropped)) {
    std::this_thread::yield();
  }
  EXPECT_LT(client.rest().size(), kLargeBytes);
}

TEST(WebServer, SkipsForASlowReaderOfEventsWhatHasGone) {
  Server server;
  Client client(server.port());
  client.say(get("/events"));
  (void)client.until("retry: 2000\n\n");
  // More than the kernel takes: the ring drops events before the client reads them.
  server.ask([](WebServer& web, EventRing& ring) {
    for (int i = 0; i < 200; ++i) {
      ring.push("tick", std::string(100'000, 'x'), EventWorth::kEach);
      web.pump();
    }
    return 0;
  });
  const std::string said = client.until("event: reload\ndata: {}\n\n");
  EXPECT_LT(said.size(), 19'000'000U);
  server.ask([](WebServer& web, EventRing& ring) {
    ring.push("tick", "last", EventWorth::kEach);
    web.pump();
    return 0;
  });
  EXPECT_EQ(client.until("data: last\n\n"), "id: ring.201\nevent: tick\ndata: last\n\n");
}

TEST(WebServer, MakesRoomByDroppingWhoHasBeenIdleLongest) {
  const Server server({.connections = 2});
  Client first(server.port());
  first.say(get("/first", ""));
  (void)first.until("/first?\n");
  Client second(server.port());
  second.say(get("/second", ""));
  (void)second.until("/second?\n");
  Client third(server.port());
  third.say(get("/third", ""));
  (void)third.until("/third?\n");
  EXPECT_EQ(first.rest(), "");
  second.say(get("/again"));
  EXPECT_THAT(second.rest(), HasSubstr("/again?\n"));
}

TEST(WebServer, RefusesWhereEverybodyIsBusy) {
  Server server({.connections = 1});
  Client viewer(server.port());
  viewer.say(get("/events"));
  (void)viewer.until("retry: 2000\n\n");
  EXPECT_THAT(answer_to(server, ""), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(server.ask([](WebServer& web, EventRing&) { return web.num_refused(); }), 1U);
}

TEST(WebServer, TakesThePortBeforeWhereItIsFree) {
  boost::asio::io_context io;
  std::uint16_t port = 0;
  {
    const WebServer first(io, {}, {});
    port = first.port();
    const WebServer second(io, {.port_before = port}, {});
    EXPECT_NE(second.port(), port);
  }
  const WebServer third(io, {.port_before = port}, {});
  EXPECT_EQ(third.port(), port);
  EXPECT_THROW(WebServer(io, {.address = {.port = port}}, {}), EnvironmentError);
}

}  // namespace
}  // namespace gangway::coordinator
