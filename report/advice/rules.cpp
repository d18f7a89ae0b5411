// SPDX-License-Identifier: MIT
#include "report/advice/rules.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

namespace gangway::report {
namespace {

using Facts = const StepFacts&;

/// Training waits for the loader if it works more than this share of its time.
constexpr double kLoaderIsBusy = 0.7;
/// A kind of work dominates above this share of the loader's work.
constexpr double kMostOfIt = 0.5;

bool loader_is_busy(Facts facts) {
  const double work = facts.loader_work();
  return work > kLoaderIsBusy * (work + facts.loader("no_room"));
}

/// Returns the wait for data if the loader is busy, mostly with `kinds`.
double data_wait(Facts facts, std::initializer_list<std::string_view> kinds) {
  double sum = 0.0;
  for (const std::string_view kind : kinds) {
    sum += facts.loader(kind);
  }
  return loader_is_busy(facts) && sum > kMostOfIt * facts.loader_work() ? facts.share("data") : 0.0;
}

std::string data_evidence(Facts facts, std::string_view does, double seconds) {
  return fmt::format("waits for data {} of a step, and its loader {} for {} of its work",
                     percent(facts.share("data")), does, percent(seconds / facts.loader_work()));
}

double others_waits(Facts facts) {
  return facts.share({"exchange", "workers", "messages", "device"});
}

bool is_cut(Facts facts) { return facts.key(kIsCut) == "true"; }

/// Returns 0 if the job does not say.
double images_per_microbatch(Facts facts) {
  const double microbatches = std::atof(facts.key("training.microbatches", "1").c_str());
  return microbatches > 0.0 ? std::atof(facts.key("training.batch", "0").c_str()) / microbatches
                            : 0.0;
}

/// Returns the share of work done once per micro-batch. For tiny ones this is all compute, since
/// operators take as long for one or two images as for several.
double per_microbatch(Facts facts) {
  constexpr double kTiny = 2.0;
  const double images = images_per_microbatch(facts);
  const bool is_tiny = images > 0.0 && images <= kTiny && facts.key("training.microbatches") != "1";
  return facts.share({"leaves", "other"}) + (is_tiny ? facts.computing() : 0.0);
}

/// Returns by how much less than the others the slowest worker waits.
double lag(Facts facts) {
  const std::vector<double>& waits = facts.waits_for_others();
  const std::size_t slowest = worker_of(facts.slowest_rank()).place();
  if (waits.size() < 2 || slowest >= waits.size() || facts.share("tensors") > 0.0) {
    return 0.0;
  }
  double least = 1.0;
  for (std::size_t worker = 0; worker < waits.size(); ++worker) {
    least = worker == slowest ? least : std::min(least, waits[worker]);
  }
  // Its wait for data does not mean that its host is slow.
  return std::max(0.0, least - waits[slowest] - facts.share("data"));
}

/// Returns a key that lengthens the shortest of these intervals, so that its work, now `share` of a
/// step, takes less than half a percent.
std::string rarer(Facts facts, std::initializer_list<const char*> names, double share) {
  constexpr double kFine = 0.005;
  const char* const name =
      std::ranges::min(names, {}, [&](const char* one) { return facts.interval_kimg(one); });
  const double before = std::atof(facts.key(name, "0").c_str());
  double times = 2.0;
  while (share / times > kFine) {
    times *= 2.0;
  }
  return before > 0.0 ? fmt::format("{}={:g}", name, before * times) : std::string();
}

std::string more_threads(Facts facts) {
  const int threads = 2 * std::max(1, std::atoi(facts.key("data.threads", "1").c_str()));
  const int prefetch = std::max(std::atoi(facts.key("data.prefetch", "4").c_str()), 2 * threads);
  return fmt::format("data.threads={} data.prefetch={}", threads, prefetch);
}

/// Returns a key for fewer micro-batches: at least 16 images each, or one per worker.
std::string fewer_microbatches(Facts facts) {
  constexpr double kManyImages = 16.0;
  const int workers = std::max(1, static_cast<int>(facts.waits_for_others().size()));
  int count = std::max(1, std::atoi(facts.key("training.microbatches", "1").c_str()));
  const double batch = std::atof(facts.key("training.batch", "0").c_str());
  while (count % 2 == 0 && count / 2 >= workers && batch / count < kManyImages) {
    count /= 2;
  }
  return fmt::format("training.microbatches={}", count);
}

constexpr std::array kStepRules = {
    Rule{.name = "decode-bound",
         .threshold = 0.05,
         .share =
             [](Facts facts) {
               return data_wait(facts, {"decode", "fit"});
             },
         .evidence =
             [](Facts facts) {
               return data_evidence(facts, "decodes and resizes",
                                    facts.loader("decode") + facts.loader("fit"));
             },
         .keys = [](Facts) { return std::string("data.cache=auto"); },
         .remedy = [](Facts) { return std::string("or 'gangway data pack'"); }},
    Rule{
        .name = "read-bound",
        .threshold = 0.05,
        .share = [](Facts facts) { return data_wait(facts, {"read"}); },
        .evidence = [](Facts facts) { return data_evidence(facts, "reads", facts.loader("read")); },
        .keys = more_threads,
        .remedy =
            [](Facts facts) {
              return facts.key("data.source").starts_with("toy:")
                         ? std::string()
                         : std::string("'gangway data pack', or a disk nearer to the worker");
            }},
    Rule{.name = "augment-bound",
         .threshold = 0.05,
         .share =
             [](Facts facts) {
               return data_wait(facts, {"augment", "pack"});
             },
         .evidence =
             [](Facts facts) {
               return data_evidence(facts, "augments and packs",
                                    facts.loader("augment") + facts.loader("pack"));
             },
         .keys = more_threads},
    Rule{.name = "shallow-prefetch",
         .threshold = 0.05,
         .share =
             [](Facts facts) {
               return facts.loader_work() > 0.0 && !loader_is_busy(facts) ? facts.share("data")
                                                                          : 0.0;
             },
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "waits for data {} of a step, though its loader has nothing to do for {} of its "
                   "time: some reads take far longer than most",
                   percent(facts.share("data")),
                   percent(facts.loader("no_room") /
                           (facts.loader("no_room") + facts.loader_work())));
             },
         .keys =
             [](Facts facts) {
               const int before = std::max(1, std::atoi(facts.key("data.prefetch", "4").c_str()));
               return fmt::format("data.prefetch={}", 4 * before);
             }},
    Rule{.name = "tiny-microbatches",
         .threshold = 0.1,
         .share = per_microbatch,
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "micro-batches of {:.0f} images: the fixed cost of a micro-batch shows",
                   images_per_microbatch(facts));
             },
         .keys = fewer_microbatches,
         .changes_numbers = true,
         .is_saved = false},
    Rule{.name = "overlap-off",
         .threshold = 0.05,
         .share =
             [](Facts facts) {
               return facts.key("layout.overlap", "across") == "none" ? others_waits(facts) : 0.0;
             },
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "waits for exchanges {} of a step, which layout.overlap: none keeps out of the "
                   "compute",
                   percent(others_waits(facts)));
             },
         .keys = [](Facts) { return std::string("layout.overlap=across"); }},
    Rule{.name = "straggler",
         .threshold = 0.2,
         .share = lag,
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "all other workers wait for rank {}, {} of a step longer than it waits for them",
                   facts.slowest_rank(), percent(lag(facts)));
             },
         .remedy =
             [](Facts) {
               return std::string(
                   "look for what else runs on its host; layout.balance=auto moves micro-batches, "
                   "'gangway drain RUN HOST' removes the host");
             }},
    Rule{
        .name = "slow-link",
        .threshold = 0.1,
        .share =
            [](Facts facts) {
              return facts.key("layout.overlap", "across") == "none" ? 0.0
                                                                     : facts.share("messages");
            },
        .evidence =
            [](Facts facts) {
              return fmt::format("waits for messages of other hosts {} of a step",
                                 percent(facts.share("messages")));
            },
        .remedy =
            [](Facts) {
              return std::string(
                  "'gangway plan JOB' finds the layout for these links; a larger training.batch or "
                  "numerics.wire=bf16 sends less, in a new job");
            }},
    Rule{.name = "update-bound",
         .threshold = 0.1,
         .share = [](Facts facts) { return facts.share("optimizer"); },
         .evidence =
             [](Facts facts) {
               return fmt::format("waits for the optimiser {} of a step",
                                  percent(facts.share("optimizer")));
             },
         .remedy = [](Facts) { return std::string("more workers: each updates its own share"); }},
    Rule{
        .name = "exchange-bound",
        .threshold = 0.3,
        .share =
            [](Facts facts) {
              return facts.key("layout.overlap", "across") == "none" || lag(facts) > 0.2
                         ? 0.0
                         : facts.share({"exchange", "workers"});
            },
        .evidence =
            [](Facts facts) {
              return fmt::format(
                  "waits {} of a step while gradients are added up on its host: its networks are "
                  "small for so many workers, or its MPI thread has no core",
                  percent(facts.share({"exchange", "workers"})));
            },
        .remedy = [](Facts) { return std::string("fewer workers per host ('gangway plan JOB')"); }},
    Rule{.name = "norm-wait",
         .threshold = 0.05,
         .share = [](Facts facts) { return facts.norm_wait(); },
         .evidence =
             [](Facts facts) {
               return fmt::format(
                   "waits {} of a step for updates that wait for the gradient's norm",
                   percent(facts.norm_wait()));
             },
         .remedy = [](Facts) { return std::string("no clip_norm, or accept this wait"); },
         .changes_numbers = true},
    Rule{.name = "bubble",
         .threshold = 0.1,
         .share = [](Facts facts) { return is_cut(facts) ? facts.mean_tensor_wait() : 0.0; },
         .evidence =
             [](Facts facts) {
               return fmt::format("workers wait for tensors of other stages {} of their steps",
                                  percent(facts.mean_tensor_wait()));
             },
         .remedy =
             [](Facts) {
               return std::string(
                   "'gangway plan JOB' finds other cuts and schedules; more training.microbatches, "
                   "in a new job, fill the bubble");
             }},
    Rule{.name = "unbalanced-networks",
         .threshold = 0.15,
         .share = [](Facts facts) { return is_cut(facts) ? 0.0 : facts.mean_tensor_wait(); },
         .evidence =
             [](Facts facts) {
               return fmt::format("workers wait {} of their steps for networks on other workers",
                                  percent(facts.mean_tensor_wait()));
             },
         .remedy =
             [](Facts) {
               return std::string("'gangway plan JOB' finds a worker for each network");
             }},
    Rule{.name = "snapshots",
         .threshold = 0.02,
         .share = [](Facts facts) { return facts.share("snapshots"); },
         .evidence =
             [](Facts facts) {
               return fmt::format("snapshots take {} of a step", percent(facts.share("snapshots")));
             },
         .keys = [](Facts) { return std::string("checkpoint.snapshot_steps=auto"); }},
    Rule{.name = "checkpoints",
         .threshold = 0.02,
         .share = [](Facts facts) { return facts.share("checkpoints"); },
         .evidence =
             [](Facts facts) {
               return fmt::format("checkpoints take {} of a step",
                                  percent(facts.share("checkpoints")));
             },
         .keys =
             [](Facts facts) {
               return rarer(
                   facts,
                   {"checkpoint.every_steps", "checkpoint.every_seconds", "checkpoint.every_kimg"},
                   facts.share("checkpoints"));
             },
         .remedy = [](Facts) { return std::string("or a faster disk"); }},
    Rule{.name = "pictures",
         .threshold = 0.02,
         .share = [](Facts facts) { return facts.share("pictures"); },
         .evidence =
             [](Facts facts) {
               return fmt::format("pictures take {} of the time", percent(facts.share("pictures")));
             },
         .keys =
             [](Facts facts) {
               return rarer(facts, {"output.pictures_kimg"}, facts.share("pictures"));
             }},
    Rule{.name = "checks",
         .threshold = 0.01,
         .share = [](Facts facts) { return facts.share("checks"); },
         .evidence =
             [](Facts facts) {
               return fmt::format("comparing weights takes {:.1f}% of a step",
                                  100.0 * facts.share("checks"));
             },
         .keys =
             [](Facts facts) {
               return rarer(facts, {"layout.check_steps"}, facts.share("checks"));
             }},
    Rule{.name = "launch-bound",
         .threshold = 0.1,
         .share = [](Facts facts) { return facts.number("device_starved_percent") / 100.0; },
         .evidence =
             [](Facts facts) {
               return fmt::format("in {} of the samples of its GPU no work was queued",
                                  percent(facts.number("device_starved_percent") / 100.0));
             },
         .keys =
             [](Facts facts) {
               return std::string(facts.key("numerics.cuda_graph", "auto") == "off"
                                      ? "numerics.cuda_graph=auto"
                                      : "");
             },
         .remedy =
             [](Facts facts) {
               return std::string(facts.key("numerics.cuda_graph", "auto") == "off"
                                      ? "a recorded step launches at once"
                                      : "numerics.cuda_graph=branches computes micro-batches at "
                                        "once, and says why steps are not recorded; "
                                        "fewer training.microbatches launch less often");
             }},
    Rule{.name = "penalties",
         .threshold = 0.3,
         .share =
             [](Facts facts) {
               // A gradient penalty has no interval, because its loss is invalid without it.
               const bool has_interval = std::atof(facts.key("training.r1.gamma").c_str()) > 0.0 ||
                                         std::atof(facts.key("training.r2.gamma").c_str()) > 0.0;
               const bool is_lazy = facts.key("training.r1.interval", "1") != "1";
               return is_lazy || !has_interval ? 0.0 : facts.share_ending("_penalty");
             },
         .evidence =
             [](Facts facts) {
               return fmt::format("penalties take {} of a step, in every step",
                                  percent(facts.share_ending("_penalty")));
             },
         .keys = [](Facts) { return std::string("training.r1.interval=16"); },
         .remedy = [](Facts) { return std::string("lazy regularisation, as in StyleGAN2"); },
         .changes_numbers = true},
    Rule{.name = "coordinator",
         .threshold = 0.01,
         .share = [](Facts facts) { return facts.share("coordinator"); },
         .evidence =
             [](Facts facts) {
               return fmt::format("waits for the coordinator {:.1f}% of the time",
                                  100.0 * facts.share("coordinator"));
             },
         .keys =
             [](Facts facts) {
               // Each of these intervals ends the steps that the coordinator grants at once.
               return rarer(facts,
                            {"output.tick_kimg", "output.pictures_kimg", "checkpoint.every_kimg",
                             "checkpoint.every_steps"},
                            facts.share("coordinator"));
             },
         .remedy = [](Facts) { return std::string("or a core for the coordinator"); }},
};

}  // namespace

std::span<const Rule> step_rules() { return kStepRules; }

}  // namespace gangway::report
