// SPDX-License-Identifier: MIT
// What there is to see of a run that goes on: the page's files, the run's records as one document,
// events as they come, pictures, logs, metrics, health. Each is made once and shared by all who
// ask; what has to be read from a disk is read by a thread of its own. Used on the page's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/time.hpp"
#include "coordinator/edges/disk_thread.hpp"
#include "coordinator/http/host_figures.hpp"
#include "coordinator/http/metrics.hpp"
#include "coordinator/http/web/event_ring.hpp"
#include "coordinator/http/web/gate.hpp"
#include "coordinator/http/web/web_answer.hpp"
#include "coordinator/steering/job_status.hpp"

namespace gangway::coordinator {

struct SiteSettings {
  std::filesystem::path run_directory;
  std::string start_name;  ///< of this start of the run: the ids of its events begin with it
  BuildFigures build;
  /// A loop that says nothing for so long while it trains has stopped turning.
  std::chrono::seconds health{60};
};

class PageSite : public std::enable_shared_from_this<PageSite> {
 public:
  /// @param io  shared with the thread that reads, which may outlive this
  PageSite(std::shared_ptr<boost::asio::io_context> io, SiteSettings settings, Gate gate);

  void handle(const WebRequest& request, const Reply& reply);

  void show_status(JobStatus status, TimePoint now);
  void show_tick(const report::Tick& tick);
  void show_line(const std::string& line);
  void show_score(const std::string& metric, double value);
  /// Nothing follows.
  void show_end();
  /// What the server tells of itself.
  void show_load(const WebLoad& load) { load_ = load; }
  /// What was read meanwhile is let go.
  void poll() { disk_.poll(); }

 private:
  struct Picture {
    SharedText bytes;
    TimePoint read_at{};
  };
  struct Reader;

  [[nodiscard]] std::optional<WebDocument> refusal(const WebRequest& request) const;
  void open(const WebRequest& request, const Reply& reply);
  [[nodiscard]] WebDocument health() const;
  [[nodiscard]] WebDocument readiness() const;
  [[nodiscard]] WebAnswer events(const WebRequest& request) const;
  void document(const Reply& reply);
  /// The records and how it stands now. @pre there are records
  [[nodiscard]] WebDocument whole_document(TimePoint now);
  void metrics(const Reply& reply);
  void picture(const std::string& name, const Reply& reply);
  void keep_picture(const std::string& name, const SharedText& bytes);
  void log(const WebRequest& request, const Reply& reply);

  /// `read` on the reading thread, `then` with its result on the page's, if this still lives.
  template <typename Read, typename Then>
  void read(Read read, Then then);
  [[nodiscard]] bool is_reading_too_much(const Reply& reply) const;

  std::shared_ptr<boost::asio::io_context> io_;
  SiteSettings settings_;
  Gate gate_;
  EventRing ring_;
  std::map<std::string, WebDocument, std::less<>> files_;  ///< of the page, by path
  std::shared_ptr<Reader> reader_;                         ///< of the reading thread
  DiskThread disk_;
  int num_reading_ = 0;

  std::shared_ptr<const JobStatus> status_;
  std::string status_json_ = "null";
  TimePoint status_at_{};
  MetricsBook book_;
  WebLoad load_;

  SharedText records_;  ///< the document without what is live
  TimePoint records_at_{};
  SharedText document_;  ///< with it
  TimePoint document_at_{};
  std::chrono::nanoseconds records_took_{};
  bool is_making_records_ = false;
  std::vector<Reply> waiting_for_records_;

  SharedText metrics_;
  TimePoint metrics_at_{};
  bool is_making_metrics_ = false;
  std::vector<Reply> waiting_for_metrics_;

  std::map<std::string, Picture> pictures_;
  std::size_t picture_bytes_ = 0;
};

}  // namespace gangway::coordinator
