// SPDX-License-Identifier: MIT
// One connection of the WebServer. Used on the page's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/time.hpp"
#include "coordinator/http/web/web_answer.hpp"
#include "coordinator/http/web/web_limits.hpp"
#include "coordinator/http/web/web_stream.hpp"

namespace gangway::coordinator {

class WebSession : public std::enable_shared_from_this<WebSession> {
 public:
  /// The server's parts that a session uses; they outlive it.
  struct Host {
    const WebLimits& limits;
    const WebHandler& handler;
    boost::asio::ssl::context* tls;  ///< null: no TLS
    std::uint64_t& num_requests;
    std::function<void()> gone;
  };

  WebSession(boost::asio::ip::tcp::socket socket, Host host);

  void start();
  /// Closes the descriptor at once and ends pending operations.
  void drop();
  /// Sends the ring's new events.
  void pump();

  [[nodiscard]] bool is_overdue(TimePoint now) const { return deadline_ && now >= *deadline_; }
  [[nodiscard]] bool is_stream() const { return events_.has_value(); }
  /// Whether no request is under way.
  [[nodiscard]] bool is_idle() const { return is_idle_; }
  /// Time since when it is idle.
  [[nodiscard]] TimePoint idle_since() const { return idle_since_; }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::empty_body>;

  /// Detects TLS by the first byte.
  void listen_for_tls();
  void shake_hands();
  void read(std::chrono::milliseconds limit);
  void be_idle();
  void take_request();
  void refuse(int status, const std::string& line);
  void answer(WebAnswer answer);
  void send(const WebDocument& document);
  void send_body(const SharedText& body);
  void stream(const WebEvents& events);
  /// Ends an event stream when its client sends anything or closes.
  void watch_for_end();
  void send_event(const SharedText& text);
  /// Waits before closing, because closing with unread input would discard the last answer.
  void linger();
  void discard();
  void expect_within(std::chrono::milliseconds limit);

  WebStream stream_;
  Host host_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::optional<TimePoint> deadline_;
  TimePoint idle_since_{};
  bool is_idle_ = true;
  bool is_head_ = false;
  bool keeps_alive_ = false;
  std::string if_none_match_;
  std::optional<Peer> peer_;  ///< set after the first request
  Channel channel_ = Channel::kPlain;
  std::string head_;                 ///< head of the answer under way
  SharedText sent_;                  ///< text under way
  std::optional<WebEvents> events_;  ///< this session's position in the events
  std::array<char, 512> ignored_{};
};

}  // namespace gangway::coordinator
