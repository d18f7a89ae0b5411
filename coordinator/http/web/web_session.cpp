// SPDX-License-Identifier: MIT
#include "coordinator/http/web/web_session.hpp"

#include <sstream>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coordinator/http/web/peer_owner.hpp"

namespace gangway::coordinator {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::steady_clock;

/// Type of the first TLS record (RFC 8446, 5.1); a plain request never begins with this byte.
constexpr unsigned char kTlsHandshake = 22;
constexpr int kSendBufferBytes = 256 * 1024;  // kernel buffer of each connection
constexpr int kBadRequest = 400;
constexpr int kMethodNotAllowed = 405;
constexpr int kHeaderTooLarge = 431;
constexpr int kNotModified = 304;

/// Adds headers against foreign content, requests to other sites, framing and type guessing.
void add_protection(http::fields& fields) {
  fields.set("Content-Security-Policy",
             "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
             "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
             "frame-ancestors 'none'");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
  fields.set("Cross-Origin-Opener-Policy", "same-origin");
  fields.set("Referrer-Policy", "no-referrer");
}

/// Returns the kind of client. Called only after a valid request, because the kernel lists all
/// connections of the host for it. A client that has closed its side by then is a stranger.
Peer peer_of(const boost::asio::ip::tcp::socket& socket) {
  const auto owner = peer_owner(socket);
  return owner && (*owner == ::geteuid() || *owner == 0) ? Peer::kOwner : Peer::kStranger;
}

std::string text_of(boost::string_view view) { return {view.data(), view.size()}; }

template <typename Fields>
WebRequest request_of(const Fields& fields, Peer peer, Channel channel) {
  const std::string target = text_of(fields.target());
  const std::size_t end = std::min(target.find('?'), target.size());
  return {.path = target.substr(0, end),
          .query = target.substr(std::min(end + 1, target.size())),
          .host = text_of(fields[http::field::host]),
          .authorization = text_of(fields[http::field::authorization]),
          .cookie = text_of(fields[http::field::cookie]),
          .if_none_match = text_of(fields[http::field::if_none_match]),
          .last_event_id = text_of(fields["Last-Event-ID"]),
          .peer = peer,
          .channel = channel};
}

}  // namespace

WebSession::WebSession(boost::asio::ip::tcp::socket socket, Host host)
    : stream_(std::move(socket)), host_(std::move(host)) {}

void WebSession::start() {
  error_code ignored;
  auto& socket = stream_.socket();
  socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(boost::asio::socket_base::send_buffer_size(kSendBufferBytes), ignored);
  // Detects a client that vanished without closing: it acknowledges nothing.
  const auto vanished = static_cast<unsigned int>(host_.limits.write.count());
  (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &vanished,
                     sizeof(vanished));
  if (host_.tls == nullptr) {
    read(host_.limits.request);
  } else {
    listen_for_tls();
  }
}

void WebSession::listen_for_tls() {
  be_idle();
  expect_within(host_.limits.request);
  stream_.socket().async_wait(
      boost::asio::socket_base::wait_read, [self = shared_from_this()](const error_code& error) {
        unsigned char first = 0;
        const auto size = error ? -1
                                : ::recv(self->stream_.socket().native_handle(), &first,
                                         sizeof(first), MSG_PEEK | MSG_DONTWAIT);
        if (size <= 0) {
          self->drop();
        } else if (first == kTlsHandshake) {
          self->shake_hands();
        } else {
          self->channel_ = Channel::kPlainBesideTls;
          self->read(self->host_.limits.request);
        }
      });
}

void WebSession::shake_hands() {
  channel_ = Channel::kTls;
  stream_.async_shake_hands(*host_.tls, [self = shared_from_this()](const error_code& error) {
    if (error) {
      self->drop();
    } else {
      self->read(self->host_.limits.request);
    }
  });
}

void WebSession::drop() {
  error_code ignored;
  stream_.socket().close(ignored);
  deadline_.reset();
  host_.gone();
}

void WebSession::expect_within(std::chrono::milliseconds limit) {
  deadline_ = steady_clock::now() + limit;
}

void WebSession::be_idle() {
  is_idle_ = true;
  idle_since_ = steady_clock::now();
}

void WebSession::read(std::chrono::milliseconds limit) {
  be_idle();
  expect_within(limit);
  parser_.emplace();
  parser_->header_limit(host_.limits.header_bytes);
  buffer_.max_size(2 * static_cast<std::size_t>(host_.limits.header_bytes));
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](const error_code& error, std::size_t /*size*/) {
        if (!error) {
          self->take_request();
        } else if (error == http::error::header_limit || error == http::error::buffer_overflow) {
          self->refuse(kHeaderTooLarge, "the request is too long");
        } else if (error.category() == make_error_code(http::error::bad_method).category() &&
                   error != http::error::end_of_stream && error != http::error::partial_message) {
          self->refuse(kBadRequest, "this is not HTTP/1.1 as it is understood here");
        } else {
          self->drop();
        }
      });
}

void WebSession::take_request() {
  is_idle_ = false;
  ++host_.num_requests;
  const auto& fields = parser_->get();
  is_head_ = fields.method() == http::verb::head;
  keeps_alive_ = parser_->keep_alive();
  if (!is_head_ && fields.method() != http::verb::get) {
    keeps_alive_ = false;
    WebDocument document = plain_answer(kMethodNotAllowed, "only GET and HEAD are supported");
    document.headers = {{"Allow", "GET, HEAD"}};
    return send(document);
  }
  const auto length = parser_->content_length();
  if (parser_->chunked() || (length && *length > 0)) {
    return refuse(kBadRequest, "a request here has no body");
  }
  if (fields.target().empty() || fields.target().front() != '/') {
    return refuse(kBadRequest, "the path of a request begins with /");
  }
  if (!peer_) {
    peer_ = peer_of(stream_.socket());
  }
  const WebRequest request = request_of(fields, *peer_, channel_);
  if_none_match_ = request.if_none_match;
  expect_within(host_.limits.answer);
  host_.handler(request, [weak = weak_from_this()](WebAnswer answer) {
    if (const auto self = weak.lock(); self && self->stream_.socket().is_open()) {
      self->answer(std::move(answer));
    }
  });
}

void WebSession::refuse(int status, const std::string& line) {
  is_idle_ = false;
  is_head_ = false;
  keeps_alive_ = false;
  send(plain_answer(status, line));
}

void WebSession::answer(WebAnswer answer) {
  if (const auto* events = std::get_if<WebEvents>(&answer)) {
    stream(*events);
  } else {
    send(std::get<WebDocument>(answer));
  }
}

void WebSession::send(const WebDocument& document) {
  const bool is_known = !document.etag.empty() && document.etag == if_none_match_;
  http::response<http::empty_body> response;
  response.result(static_cast<unsigned>(is_known ? kNotModified : document.status));
  response.version(11);  // NOLINT: HTTP/1.1
  add_protection(response);
  response.set(http::field::cache_control, document.etag.empty() ? "no-store" : "no-cache");
  if (!document.etag.empty()) {
    response.set(http::field::etag, document.etag);
  }
  for (const auto& [name, value] : document.headers) {
    response.insert(name, value);
  }
  if (!is_known) {
    response.set(http::field::content_type, document.type);
    response.content_length(document.body ? document.body->size() : 0);
  }
  response.keep_alive(keeps_alive_);
  std::ostringstream head;
  head << response.base();
  head_ = head.str();
  send_body(is_known || is_head_ ? nullptr : document.body);
}

void WebSession::send_body(const SharedText& body) {
  sent_ = body ? body : std::make_shared<const std::string>();
  const auto for_bytes = std::chrono::milliseconds(static_cast<std::int64_t>(
      1000.0 * static_cast<double>(sent_->size()) / host_.limits.slowest_bytes_per_second));
  expect_within(host_.limits.write + for_bytes);
  const std::array<boost::asio::const_buffer, 2> parts{boost::asio::buffer(head_),
                                                       boost::asio::buffer(*sent_)};
  boost::asio::async_write(
      stream_, parts, [self = shared_from_this()](const error_code& error, std::size_t /*size*/) {
        self->sent_.reset();
        if (error) {
          self->drop();
        } else if (self->events_) {
          self->deadline_.reset();
          self->pump();
        } else if (self->keeps_alive_) {
          self->read(self->host_.limits.idle);
        } else {
          self->linger();
        }
      });
}

void WebSession::stream(const WebEvents& events) {
  http::response<http::empty_body> response;
  response.result(http::status::ok);
  response.version(11);  // NOLINT: HTTP/1.1
  add_protection(response);
  response.set(http::field::cache_control, "no-store");
  response.set(http::field::content_type, "text/event-stream");
  response.set("X-Accel-Buffering", "no");  // for a proxy in between
  response.keep_alive(false);               // the connection ends with the stream
  std::ostringstream head;
  head << response.base();
  head_ = head.str();
  keeps_alive_ = false;
  if (is_head_) {
    return send_body(nullptr);
  }
  events_ = events;
  watch_for_end();
  send_body(std::make_shared<const std::string>("retry: 2000\n\n"));
}

void WebSession::watch_for_end() {
  stream_.async_read_some(boost::asio::buffer(ignored_),
                          [self = shared_from_this()](const error_code& /*error*/,
                                                      std::size_t /*size*/) { self->drop(); });
}

void WebSession::pump() {
  if (!events_ || sent_ || !stream_.socket().is_open()) {
    return;
  }
  if (events_->begins_anew || events_->ring->has_dropped_after(events_->after)) {
    events_->begins_anew = false;
    events_->after = events_->ring->before_newest();
    return send_event(std::make_shared<const std::string>("event: reload\ndata: {}\n\n"));
  }
  if (const auto next = events_->ring->after(events_->after)) {
    events_->after = next->number;
    send_event(next->text);
  }
}

void WebSession::send_event(const SharedText& text) {
  head_.clear();
  send_body(text);
}

void WebSession::linger() {
  expect_within(host_.limits.linger);
  stream_.async_end([self = shared_from_this()] { self->discard(); });
}

void WebSession::discard() {
  stream_.socket().async_read_some(
      boost::asio::buffer(ignored_),
      [self = shared_from_this()](const error_code& error, std::size_t /*size*/) {
        if (error) {
          self->drop();
        } else {
          self->discard();
        }
      });
}

}  // namespace gangway::coordinator
