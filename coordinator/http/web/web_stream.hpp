// SPDX-License-Identifier: MIT
// The byte stream of one connection of the WebServer, plain or over TLS; Beast and Asio read and
// write it. Used on the page's thread; must outlive its pending operations.
#pragma once

#include <optional>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace gangway::coordinator {

class WebStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using executor_type = Socket::executor_type;

  explicit WebStream(Socket socket) : socket_(std::move(socket)) {}
  WebStream(const WebStream&) = delete;
  WebStream& operator=(const WebStream&) = delete;

  [[nodiscard]] executor_type get_executor() { return socket_.get_executor(); }
  [[nodiscard]] Socket& socket() { return socket_; }
  [[nodiscard]] const Socket& socket() const { return socket_; }

  /// Switches to TLS. @param handler  called with the error
  template <typename Handler>
  void async_shake_hands(boost::asio::ssl::context& context, Handler&& handler) {
    tls_.emplace(socket_, context);
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      socket_.async_read_some(buffers, std::forward<Handler>(handler));
    }
  }

  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      socket_.async_write_some(buffers, std::forward<Handler>(handler));
    }
  }

  /// Sends TLS's end of data, so that a cut-off answer is detectable; later input is not read.
  /// @param then  called after the end is sent
  template <typename Then>
  void async_end(Then then) {
    const auto end = [this, then = std::move(then)](const boost::system::error_code& /*error*/) {
      boost::system::error_code ignored;
      socket_.shutdown(Socket::shutdown_send, ignored);
      then();
    };
    if (tls_) {
      tls_->async_shutdown(end);
    } else {
      end({});
    }
  }

 private:
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace gangway::coordinator
