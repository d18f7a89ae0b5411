// SPDX-License-Identifier: MIT
#include "coordinator/http/page_site.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "base/text/parse_number.hpp"
#include "base/time.hpp"
#include "coordinator/http/run_reader.hpp"
#include "report/page/page_files.hpp"

namespace gangway::coordinator {
namespace {

using nlohmann::ordered_json;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFresh{1'000};  // least age before live data is made again
// Reading the records may use at most 1 / kShareOfReading of a processor, which the workers need.
constexpr int kShareOfReading = 100;
constexpr std::chrono::seconds kPictureFresh{30};
constexpr std::size_t kMaxPictureCache = std::size_t{32} << 20U;
constexpr int kMaxReading = 64;  // requests that wait for the disk
constexpr std::size_t kMaxWaiting = 1024;
constexpr std::string_view kPictures = "/pictures/";
constexpr int kNiceness = 10;  // below the training processes

SharedText shared(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

std::map<std::string, WebDocument, std::less<>> page_files() {
  std::map<std::string, WebDocument, std::less<>> files;
  for (const report::EmbeddedFile& file : report::embedded_files()) {
    WebDocument document{
        .type = std::string(report::media_type(file.name)),
        .body = shared(std::string(file.content)),
        .etag = fmt::format("\"{:016x}\"", std::hash<std::string_view>()(file.content))};
    files[fmt::format("/{}", file.name)] = document;
    if (file.name == "index.html") {
      files["/"] = document;
    }
  }
  return files;
}

template <typename Value>
ordered_json value_or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json workers_json(const JobStatus& status) {
  ordered_json list = ordered_json::array();
  for (const WorkerStatus& worker : status.workers) {
    list.push_back({{"rank", worker.rank},
                    {"host", worker.host},
                    {"device", worker.device},
                    {"pid", worker.pid},
                    {"state", worker.state},
                    {"microbatches", {worker.microbatches.begin, worker.microbatches.end}},
                    {"networks", worker.networks},
                    {"steps_done", worker.steps_done},
                    {"work_seconds_per_step", worker.work_seconds_per_step},
                    {"wait_seconds_per_step", worker.wait_seconds_per_step},
                    {"data_seconds_per_step", worker.data_seconds_per_step},
                    {"resident_bytes", worker.memory.resident_bytes},
                    {"allocated_bytes", worker.memory.allocated_bytes},
                    {"reserved_bytes", worker.memory.reserved_bytes},
                    {"peak_bytes", worker.memory.peak_bytes},
                    {"sent_mib_per_step", worker.sent_mib_per_step},
                    {"is_straggler", worker.is_straggler}});
  }
  return list;
}

ordered_json losses_json(const JobStatus& status) {
  ordered_json losses = ordered_json::array();
  for (const report::NetworkLoss& loss : status.losses) {
    losses.push_back({{"network", loss.network}, {"loss", loss.loss}});
  }
  return losses;
}

/// Returns the status for the live page's modules (docs/metrics.md) on one line. A number that is
/// not finite becomes null. Omits the tick, which has its own event.
std::string status_json(const JobStatus& status) {
  ordered_json object = {{"phase", name_of(status.phase)},
                         {"incarnation", status.incarnation},
                         {"restarts", status.restarts},
                         {"unix_seconds", status.unix_seconds},
                         {"seconds_up", status.seconds_up},
                         {"waits_for", status.waits_for},
                         {"step", status.step},
                         {"total_steps", status.total_steps},
                         {"kimg", status.kimg},
                         {"total_kimg", status.total_kimg},
                         {"step_seconds", status.step_seconds},
                         {"images_per_second", status.images_per_second},
                         {"seconds_left", value_or_null(status.seconds_left)},
                         {"losses", losses_json(status)},
                         {"workers", workers_json(status)},
                         {"pause", nullptr},
                         {"checkpoint", nullptr},
                         {"snapshot_step", value_or_null(status.snapshot_step)},
                         {"pictures", status.pictures.size()},
                         {"newest_picture", nullptr}};
  if (status.pause) {
    object["pause"] = {{"unix_seconds", status.pause->unix_seconds}, {"by", status.pause->by}};
  }
  if (status.checkpoint) {
    object["checkpoint"] = {{"step", status.checkpoint->step},
                            {"age_kimg", status.checkpoint->age_kimg},
                            {"age_seconds", value_or_null(status.checkpoint->age_seconds)}};
  }
  if (!status.pictures.empty()) {
    object["newest_picture"] = status.pictures.back();
  }
  // Names of hosts and devices may hold invalid UTF-8.
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

WebDocument too_busy() {
  WebDocument document = plain_answer(503, "the run directory's disk is slow; try again later");
  document.headers = {{"Retry-After", "5"}};
  return document;
}

}  // namespace

PageSite::PageSite(std::shared_ptr<boost::asio::io_context> io, SiteSettings settings, Gate gate)
    : io_(std::move(io)),
      settings_(std::move(settings)),
      gate_(std::move(gate)),
      ring_(settings_.start_name),
      files_(page_files()),
      reader_(std::make_shared<RunReader>(settings_.run_directory)) {
  disk_.submit([]() -> DiskThread::Follow {
    (void)::setpriority(PRIO_PROCESS, 0, kNiceness);  // on Linux, of this thread
    return [] {};
  });
}

template <typename Read, typename Then>
void PageSite::read(Read read, Then then) {
  ++num_reading_;
  disk_.submit([io = io_, reader = reader_, weak = weak_from_this(), read = std::move(read),
                then = std::move(then)]() -> DiskThread::Follow {
    decltype(read(*reader)) result{};
    try {
      result = read(*reader);
    } catch (const std::exception&) {
      // The page then shows that the files could not be read.
    }
    boost::asio::post(*io, [weak, then, result = std::move(result)] {
      if (const auto self = weak.lock()) {
        --self->num_reading_;
        then(*self, result);
      }
    });
    return [] {};
  });
}

bool PageSite::is_reading_too_much(const Reply& reply) const {
  const bool is_too_much = num_reading_ >= kMaxReading;
  if (is_too_much) {
    reply(too_busy());
  }
  return is_too_much;
}

void PageSite::handle(const WebRequest& request, const Reply& reply) {
  if (request.path == "/healthz") {
    return reply(health());
  }
  if (request.path == "/readyz") {
    return reply(readiness());
  }
  if (auto refused = refusal(request)) {
    return reply(*refused);
  }
  open(request, reply);
}

std::optional<WebDocument> PageSite::refusal(const WebRequest& request) const {
  constexpr int kBadRequest = 400;
  constexpr int kUnauthorized = 401;
  constexpr int kMisdirected = 421;
  constexpr int kSeeOther = 303;
  if (request.channel == Channel::kPlainBesideTls) {
    return plain_answer(kBadRequest,
                        "this page is served over TLS only: open https://; a token sent in clear "
                        "text may be known (rm http.token; the next start makes a new token)");
  }
  switch (gate_.admit(request.peer, request.credentials())) {
    case Admission::kYes:
      return std::nullopt;
    case Admission::kYesByQuery: {
      if (request.path != "/") {
        return std::nullopt;
      }
      // Moves the token to a cookie, hidden from history and from screenshots of the window.
      WebDocument document = plain_answer(kSeeOther, "");
      const CookieScope scope =
          request.channel == Channel::kTls ? CookieScope::kTlsAlone : CookieScope::kAnything;
      document.headers = {{"Location", "/"}, {"Set-Cookie", gate_.set_cookie(scope)}};
      return document;
    }
    case Admission::kForeignHost:
      return plain_answer(kMisdirected,
                          "without the run's token this page is served at localhost or 127.0.0.1 "
                          "only, and the address names another host");
    case Admission::kNoToken:
      break;
  }
  WebDocument document =
      plain_answer(kUnauthorized,
                   "this page needs the run's token (http.json in its directory has the whole "
                   "address): open /?token=TOKEN, or send Authorization: Bearer TOKEN");
  document.headers = {{"WWW-Authenticate", "Bearer realm=\"gangway\""}};
  return document;
}

void PageSite::open(const WebRequest& request, const Reply& reply) {
  constexpr int kNotFound = 404;
  constexpr int kNoContent = 204;
  const std::string& path = request.path;
  if (const auto file = files_.find(path); file != files_.end()) {
    reply(file->second);
  } else if (path == "/api/run.json") {
    document(reply);
  } else if (path == "/api/events") {
    reply(events(request));
  } else if (path == "/metrics") {
    metrics(reply);
  } else if (path == "/log") {
    log(request, reply);
  } else if (path.starts_with(kPictures)) {
    picture(path.substr(kPictures.size()), reply);
  } else if (path == "/favicon.ico") {
    reply(WebDocument{.status = kNoContent});
  } else {
    reply(plain_answer(kNotFound, "there is nothing of this name"));
  }
}

WebDocument PageSite::health() const {
  const bool trains = status_ && status_->phase != JobPhase::kStarting;
  if (trains && steady_clock::now() - status_at_ > settings_.health) {
    return plain_answer(503, "the coordinator's event loop stands still");
  }
  return plain_answer(200, "ok");
}

WebDocument PageSite::readiness() const {
  const std::string phase(status_ ? name_of(status_->phase) : "starting");
  const bool is_ready =
      status_ && status_->phase != JobPhase::kStarting && status_->phase != JobPhase::kEnded;
  return plain_answer(is_ready ? 200 : 503, phase);
}

WebAnswer PageSite::events(const WebRequest& request) const {
  if (request.last_event_id.empty()) {
    return WebEvents{.ring = &ring_, .after = ring_.before_newest()};
  }
  const auto number = ring_.number_of(request.last_event_id);
  return WebEvents{.ring = &ring_, .after = number.value_or(0), .begins_anew = !number};
}

WebDocument PageSite::whole_document(TimePoint now) {
  if (!document_ || now - document_at_ >= kFresh) {
    document_ = shared(fmt::format("{},\"live\":{}}}", *records_, status_json_));
    document_at_ = now;
  }
  return {.type = "application/json", .body = document_};
}

void PageSite::document(const Reply& reply) {
  const auto now = steady_clock::now();
  const auto interval = std::max<std::chrono::nanoseconds>(kFresh, kShareOfReading * records_took_);
  if (records_ && now - records_at_ < interval) {
    return reply(whole_document(now));
  }
  if (waiting_for_records_.size() >= kMaxWaiting) {
    return reply(too_busy());
  }
  waiting_for_records_.push_back(reply);
  if (waiting_for_records_.size() > 1) {
    return;  // one reading answers all
  }
  struct Made {
    SharedText text;
    std::chrono::nanoseconds took;
  };
  read(
      [](RunReader& reader) {
        const auto begin = steady_clock::now();
        SharedText text = shared(reader.open_document());
        return Made{std::move(text), steady_clock::now() - begin};
      },
      [](PageSite& self, const Made& made) {
        self.records_ = made.text;
        self.records_took_ = made.took;
        self.records_at_ = steady_clock::now();
        self.document_.reset();
        const WebDocument whole = made.text ? self.whole_document(self.records_at_)
                                            : plain_answer(500, "the run's records cannot be read");
        for (const Reply& waiting : std::exchange(self.waiting_for_records_, {})) {
          waiting(whole);
        }
      });
}

void PageSite::metrics(const Reply& reply) {
  const auto answer = [](const SharedText& text) -> WebDocument {
    return text ? WebDocument{.type = kMetricsType, .body = text}
                : plain_answer(500, "the metrics cannot be made");
  };
  if (metrics_ && steady_clock::now() - metrics_at_ < kFresh) {
    return reply(answer(metrics_));
  }
  if (waiting_for_metrics_.size() >= kMaxWaiting) {
    return reply(too_busy());
  }
  waiting_for_metrics_.push_back(reply);
  if (waiting_for_metrics_.size() > 1) {
    return;
  }
  read(
      [build = settings_.build, status = status_, book = totals_, load = load_,
       directory = settings_.run_directory](RunReader& /*reader*/) {
        return shared(metrics_text({.build = build,
                                    .status = status ? *status : JobStatus(),
                                    .book = book,
                                    .host = host_figures(directory),
                                    .load = load}));
      },
      [answer](PageSite& self, const SharedText& text) {
        self.metrics_ = text;
        self.metrics_at_ = steady_clock::now();
        for (const Reply& waiting : std::exchange(self.waiting_for_metrics_, {})) {
          waiting(answer(text));
        }
      });
}

void PageSite::picture(const std::string& name, const Reply& reply) {
  const auto answer = [name](const SharedText& bytes) -> WebAnswer {
    if (!bytes) {
      return plain_answer(404, "the run has no picture of this name");
    }
    return WebDocument{.type = std::string(report::media_type(name)),
                       .body = bytes,
                       .etag = fmt::format("\"{:016x}\"", std::hash<std::string>()(*bytes))};
  };
  const auto kept = pictures_.find(name);
  if (kept != pictures_.end() && steady_clock::now() - kept->second.read_at < kPictureFresh) {
    return reply(answer(kept->second.bytes));
  }
  if (!is_picture_name(name)) {
    return reply(answer(nullptr));
  }
  if (is_reading_too_much(reply)) {
    return;
  }
  read(
      [name](RunReader& reader) {
        auto bytes = reader.picture(name);
        return bytes ? shared(std::move(*bytes)) : SharedText();
      },
      [name, reply, answer](PageSite& self, const SharedText& bytes) {
        self.keep_picture(name, bytes);
        reply(answer(bytes));
      });
}

void PageSite::keep_picture(const std::string& name, const SharedText& bytes) {
  const auto drop = [this](std::map<std::string, Picture>::iterator one) {
    picture_bytes_ -= one->second.bytes->size();
    pictures_.erase(one);
  };
  if (const auto before = pictures_.find(name); before != pictures_.end()) {
    drop(before);
  }
  if (!bytes) {
    return;
  }
  while (!pictures_.empty() && picture_bytes_ + bytes->size() > kMaxPictureCache) {
    drop(std::ranges::min_element(pictures_, {},
                                  [](const auto& entry) { return entry.second.read_at; }));
  }
  pictures_[name] = {.bytes = bytes, .read_at = steady_clock::now()};
  picture_bytes_ += bytes->size();
}

void PageSite::log(const WebRequest& request, const Reply& reply) {
  const std::string_view text = query_value(request.query, "rank");
  const auto given = text.empty() ? std::optional(0) : parse_number<int>(text);
  if (!given || *given < 0) {
    return reply(plain_answer(400, "rank is a whole number, as in /log?rank=1"));
  }
  if (is_reading_too_much(reply)) {
    return;
  }
  read(
      [rank = Rank(*given)](RunReader& reader) {
        auto lines = reader.log_end(rank);
        return lines ? shared(std::move(*lines)) : SharedText();
      },
      [reply, rank = *given](PageSite& /*self*/, const SharedText& lines) {
        reply(lines ? WebDocument{.body = lines}
                    : plain_answer(404, fmt::format("rank {} has no log", rank)));
      });
}

void PageSite::show_status(JobStatus status, TimePoint now) {
  status_json_ = status_json(status);
  status_ = std::make_shared<const JobStatus>(std::move(status));
  status_at_ = now;
  ring_.push("status", status_json_, EventWorth::kNewestOnly);
}

void PageSite::show_tick(const report::Tick& tick) {
  totals_.add(tick);
  ring_.push("tick", report::tick_json(tick), EventWorth::kEach);
}

void PageSite::show_line(const std::string& line) {
  const ordered_json object = {{"unix_seconds", unix_seconds()}, {"text", line}};
  ring_.push("line", object.dump(-1, ' ', false, ordered_json::error_handler_t::replace),
             EventWorth::kEach);
}

void PageSite::show_score(const std::string& metric, double value) {
  totals_.set_score(metric, value);
}

void PageSite::show_end() { ring_.push("end", "{}", EventWorth::kEach); }

}  // namespace gangway::coordinator
