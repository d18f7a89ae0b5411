// SPDX-License-Identifier: MIT
// A run that goes on, served over HTTP (output.http): the live page, its data, metrics, health.
// Owned by the coordinator's main thread; what it is told goes to a thread of its own, which alone
// talks to whoever looks. Neither a viewer nor a disk keeps the event loop waiting.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/edges/viewers.hpp"
#include "job/http_address.hpp"
#include "job/spec.hpp"

namespace gangway::coordinator {

/// PEM files.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

struct PageSettings {
  HttpAddress address;
  std::optional<TlsFiles> tls = {};  ///< none: all is in clear
  std::filesystem::path run_directory;
  std::string host;  ///< this host's name, for people
  std::string version;
  std::int64_t incarnation = 0;
};

class LivePage {
 public:
  /// Listens, and says where in the run directory. @throws EnvironmentError when it cannot,
  /// ConfigError where its certificate is none.
  explicit LivePage(const PageSettings& settings);
  /// Tells who looks that nothing follows, and waits a moment for that to be taken.
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  /// "page   http://127.0.0.1:41234/ on host-a, for this user": for the terminal.
  [[nodiscard]] std::string line() const;
  /// What it wants to be told, on any one thread; not after its end.
  [[nodiscard]] Viewers viewers();
  /// The run goes on by itself: the next start listens at the same port, for those who look.
  void leave_place() { is_left_ = true; }

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
  bool is_left_ = false;
};

/// The page that the job asks for; nothing for `off`, and where auto finds no port, which `warn` is
/// told. Where others can reach it, it talks TLS, unless the job has http_plain.
/// @throws EnvironmentError where an address was given and cannot be listened at; ConfigError where
/// the certificate is none.
[[nodiscard]] std::unique_ptr<LivePage> open_live_page(
    const OutputSpec& output, PageSettings settings,
    const std::function<void(const std::string&)>& warn);

}  // namespace gangway::coordinator
