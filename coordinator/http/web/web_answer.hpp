// SPDX-License-Identifier: MIT
// What is asked over HTTP, and what is answered, as plain values. Used on the page's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/http/web/event_ring.hpp"
#include "coordinator/http/web/gate.hpp"

namespace gangway::coordinator {

/// How a request came.
enum class Channel {
  kPlain,
  kTls,
  kPlainBesideTls  ///< in clear, to a server that talks TLS
};

/// A GET or HEAD whose syntax is right.
struct WebRequest {
  std::string path;   ///< "/pictures/reals.png"
  std::string query;  ///< behind the '?', without it
  std::string host;   ///< headers, empty where there is none
  std::string authorization;
  std::string cookie;
  std::string if_none_match;
  std::string last_event_id;
  Peer peer = Peer::kStranger;
  Channel channel = Channel::kPlain;

  [[nodiscard]] Credentials credentials() const {
    return {.host = host, .authorization = authorization, .cookie = cookie, .query = query};
  }
};

/// Shared by all to whom it is sent.
using SharedText = std::shared_ptr<const std::string>;

struct WebDocument {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  SharedText body;
  std::string etag = {};  ///< quoted; empty: it is never the same again, and nobody keeps it
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< more of them
};

/// Server-Sent Events until somebody hangs up. The ring outlives the server.
struct WebEvents {
  const EventRing* ring = nullptr;
  std::uint64_t after = 0;
  bool begins_anew = false;  ///< what came before `after` is not known to the reader
};

using WebAnswer = std::variant<WebDocument, WebEvents>;
/// May be called later, on the page's thread, once; never: the connection ends at its deadline.
using Reply = std::function<void(WebAnswer)>;
using WebHandler = std::function<void(const WebRequest&, Reply)>;

/// One line of text, with its end.
[[nodiscard]] inline WebDocument plain_answer(int status, const std::string& line) {
  return {.status = status, .body = std::make_shared<const std::string>(line + "\n")};
}

}  // namespace gangway::coordinator
