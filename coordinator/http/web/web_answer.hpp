// SPDX-License-Identifier: MIT
// HTTP requests and answers as plain values. Used on the page's thread.
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

/// Channel of a request.
enum class Channel {
  kPlain,
  kTls,
  kPlainBesideTls  ///< without TLS, to a server that has TLS
};

/// A GET or HEAD with valid syntax.
struct WebRequest {
  std::string path;   ///< "/pictures/reals.png"
  std::string query;  ///< text after the '?'
  std::string host;   ///< headers from here on; empty if absent
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

/// Text that all its receivers share.
using SharedText = std::shared_ptr<const std::string>;

struct WebDocument {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  SharedText body;
  std::string etag = {};  ///< quoted; empty: must not be cached
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< additional headers
};

/// Server-Sent Events until the client disconnects. The ring outlives the server.
struct WebEvents {
  const EventRing* ring = nullptr;
  std::uint64_t after = 0;
  bool begins_anew = false;  ///< the reader lacks the events before `after`
};

using WebAnswer = std::variant<WebDocument, WebEvents>;
/// Call at most once, on the page's thread. Without a call the connection ends at its deadline.
using Reply = std::function<void(WebAnswer)>;
using WebHandler = std::function<void(const WebRequest&, Reply)>;

/// Returns an answer of one text line with its line break.
[[nodiscard]] inline WebDocument plain_answer(int status, const std::string& line) {
  return {.status = status, .body = std::make_shared<const std::string>(line + "\n")};
}

}  // namespace gangway::coordinator
