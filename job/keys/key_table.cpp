// SPDX-License-Identifier: MIT
// The schema of the job file. To add a key: a field in Job, LayoutChoice or RunOptions; an entry
// here or in its section's part; a rule in job/rules/ if it depends on another key. Then run
// `gangway-job-reference --write docs/job-file.md`.
#include <utility>

#include <fmt/format.h>

#include "job/http_address.hpp"
#include "job/keys/key_lists.hpp"
#include "job/keys/key_uses.hpp"
#include "job/keys/per_recipe.hpp"
#include "job/schema/key_types.hpp"

namespace gangway {
namespace {

using Keys = std::vector<Key>;

void add_numerics(const Recipe& recipe, Keys& keys) {
  keys.push_back(whole_key("numerics.threads", "threads", &NumericsSpec::threads, {1, 1024},
                           "Compute threads of a worker; another number gives other bits"));
  keys.push_back(with_default(choice_key("numerics.memory_format", &NumericsSpec::memory_format,
                                         "Order of image tensors in memory; auto: as is faster on "
                                         "the device in its precision, fixed when the run begins"),
                              "contiguous with cuda in fp32, auto with cuda and precision auto, "
                              "else channels-last"));
  keys.push_back(wire_key({"numerics.wire", "",
                           "Number format of gradients and new weights between hosts, also as "
                           "{generator: bf16, discriminator: fp32}; all but fp32 are inexact"},
                          recipe));
  keys.push_back(
      later(precision_key({"numerics.precision", "",
                           "Number format in which networks compute in training; weights stay "
                           "fp32; auto: bf16 if the hardware multiplies it (docs/training.md)"},
                          recipe)));
  keys.push_back(for_penalties(later(choice_key(
      "numerics.penalties", &NumericsSpec::penalties,
      "Number format in which penalties compute; tf32 is fp32 on a CPU; auto: fp32 on a network in "
      "fp32, else tf32 (docs/training.md)"))));
  keys.push_back(choice_key("numerics.device", &NumericsSpec::device,
                            "Kind of device that computes; auto: GPUs if there are any, else the "
                            "CPU, fixed when the run begins"));
  keys.push_back(
      for_gpus(choice_key("numerics.order", &NumericsSpec::order,
                          "Order in which gradients of micro-batches are added: the job's fixed "
                          "tree, or the order that NCCL chooses, which is inexact")));
  keys.push_back(for_kernels(choice_key(
      "numerics.kernels", &NumericsSpec::kernels,
      "What a GPU computes with: deterministic kernels, or the fastest, which is inexact; pytorch: "
      "Python networks on CPUs compute with PyTorch's kernels alone")));
  keys.push_back(later(for_gpus(
      choice_key("numerics.cuda_graph", &LayoutChoice::cuda_graph,
                 "Whether to record GPU steps as CUDA graphs; auto: if possible; on: and say why "
                 "not; overlap: and send gradients within; branches: and compute up to four "
                 "micro-batches at once (docs/communication.md)"))));
  keys.push_back(later(choice_key(
      "numerics.processor", &NumericsSpec::processor,
      "Instruction set from which LibTorch, oneDNN and MKL take kernels on every worker, so that "
      "different processors compute the same bits; native: the best of each processor")));
  keys.push_back(later(choice_key("numerics.mixed_processors", &LayoutChoice::mixed_processors,
                                  "Workers whose processor or library computes different bits: "
                                  "refused before the first step, or allowed, which is inexact")));
}

void add_layout(Keys& keys) {
  keys.push_back(file_or_none_key(
      {"layout.plan", "",
       "Profile by which `gangway run` chooses the layout for this machine; auto: the profile "
       "beside the job file, if it fits; `layout: auto` means the same (docs/planning.md)"},
      &LayoutChoice::plan, "none, auto or a file"));
  keys.push_back(
      auto_or_whole_key("layout.data", "workers", &LayoutChoice::data, {1, 65'536},
                        "Workers that share the micro-batches; auto: all started workers"));
  keys.push_back(later(
      choice_key("layout.balance", &LayoutChoice::balance,
                 "Whether `gangway run` moves micro-batches from slow workers to fast ones, by "
                 "their step times; off: layout.shares does not change (docs/going-on.md)")));
  keys.push_back(whole_key(
      "layout.stages", "chunks", &LayoutChoice::stages, {1, 65'536},
      "Chunks that each network is cut into, on different workers (docs/pipeline-stages.md)"));
  keys.push_back(later(choice_key("layout.recompute", &LayoutChoice::recompute,
                                  "Whether backward recomputes the activations of a network, or of "
                                  "a chunk, instead of keeping them (docs/memory.md)")));
  keys.push_back(choice_key(
      "layout.transport", &LayoutChoice::transport,
      "Transport between workers: shm (shared memory, one host), mpi, or hierarchical (shm within "
      "hosts, MPI between them); for GPUs NCCL, hierarchical (also auto) or flat (nccl)"));
  keys.push_back(choice_key("layout.overlap", &LayoutChoice::overlap,
                            "Work that the exchange of gradients overlaps: nothing, the backward "
                            "pass, or also the other network's work"));
  keys.push_back(
      later(auto_or_whole_key("layout.buckets", "", &LayoutChoice::buckets, {1, 128},
                              "Buckets of each network's gradients, each sent when its last "
                              "gradient is computed; more start sooner, fewer wait less often for "
                              "the wire; auto: 8, on a GPU fewer for a small network")));
  keys.push_back(later(for_gpus(auto_or_whole_key(
      "layout.nccl_ctas", "", &LayoutChoice::nccl_ctas, {1, 64},
      "Most thread blocks of a kernel of NCCL: more send faster, and leave fewer multiprocessors "
      "to the backward pass; auto: as suits the GPU (docs/planning.md), else 8"))));
  keys.push_back(later(choice_key(
      "layout.schedule", &LayoutChoice::schedule,
      "Pipeline schedule of cut networks: fill, no flush between phases; gpipe, a phase's forwards "
      "first; 1f1b, as fill with less in flight; zero-bubble, weight gradients last "
      "(docs/pipeline-stages.md)")));
  keys.push_back(later(whole_key(
      "layout.in_flight", "micro-batches", &LayoutChoice::in_flight, {0, 65'536},
      "Most micro-batches of cut networks whose activations a worker keeps for backward; fewer "
      "take less memory and wait more; 0: as the schedule needs (docs/pipeline-stages.md)")));
  keys.push_back(later(choice_key(
      "layout.placement", &LayoutChoice::placement,
      "Chunks of cut networks on the first workers: loop, the first of each network; v, the first "
      "of the first network and the last of the other networks (docs/pipeline-stages.md)")));
  Key python = later(file_or_none_key(
      {"layout.python", "",
       "Python environment for your Python classes: its folder, or its bin/python; auto: "
       "$VIRTUAL_ENV, .venv beside the job file, or Gangway's own (docs/python.md)"},
      &LayoutChoice::python, "auto, or a folder"));
  python.set = [set_file = python.set](const YamlNode& node, JobSpec& job) -> std::string {
    YamlNode said = node;
    said.text = node.text == "auto" ? "none" : node.text;
    return set_file(said, job);
  };
  python.get = [get_file = python.get](const JobSpec& job) {
    return job.layout.python.empty() ? std::string("auto") : get_file(job);
  };
  python.why_refused = [](const JobSpec& job) -> std::string {
    return job.has_python() ? ""
                            : "has a meaning with networks of your own Python alone; leave it out";
  };
  keys.push_back(std::move(python));
  keys.push_back(real_key("layout.timeout_seconds", "seconds", &LayoutChoice::timeout_seconds,
                          {.low = 0.1, .high = 86'400.0},
                          "Deadline of every wait on another worker"));
  keys.push_back(auto_or_whole_key(
      "layout.restarts", "", &LayoutChoice::restarts, {0, 1'000'000},
      "Most restarts by `gangway run` after losses of a worker, a host, the coordinator or mpirun; "
      "auto: no limit while the job progresses, else three starts (docs/going-on.md)",
      LayoutChoice::kAutoRestarts));
  keys.push_back(whole_key("layout.min_workers", "workers", &LayoutChoice::min_workers, {1, 65'536},
                           "Fewest workers with which the job continues when hosts are lost and no "
                           "spare slots replace them"));
  keys.push_back(
      whole_key("layout.check_steps", "steps", &LayoutChoice::check_steps, {0, 1'000'000'000},
                "Steps from one comparison of the hosts' weight hashes to the next; 0: never"));
  keys.push_back(choice_key(
      "layout.audit", &LayoutChoice::audit,
      "Whether, every check_steps, other workers recompute a random slice of each update"));
}

void add_checkpoint(Keys& keys) {
  keys.push_back(real_key("checkpoint.every_kimg", kKimg, &CheckpointSpec::every_kimg, kZeroOrMore,
                          "Interval between checkpoints; 0: not by images"));
  keys.push_back(real_key("checkpoint.every_seconds", "seconds", &CheckpointSpec::every_seconds,
                          kZeroOrMore, "Interval between checkpoints; 0: not by time"));
  keys.push_back(whole_key("checkpoint.every_steps", "steps", &CheckpointSpec::every_steps,
                           {0, 1'000'000'000}, "Interval between checkpoints; 0: not by steps"));
  keys.push_back(auto_or_whole_key(
      "checkpoint.snapshot_steps", "steps", &CheckpointSpec::snapshot_steps, {0, 1'000'000'000},
      "Interval between snapshots in memory; auto: under 0.5 % of the time, more "
      "often if losses of processes justify it (docs/snapshots.md); 0: none",
      CheckpointSpec::kAutoSnapshots));
  keys.push_back(real_key(
      "checkpoint.snapshot_cost", "", &CheckpointSpec::snapshot_cost, {.low = 0.0001, .high = 1.0},
      "Share of the time that snapshots may take once the run has lost processes"));
  keys.push_back(whole_key("checkpoint.keep", "", &CheckpointSpec::keep, {1, 1'000'000},
                           "Newest checkpoints that are kept"));
  keys.push_back(real_key(
      "checkpoint.keep_every", kKimg, &CheckpointSpec::keep_every, kZeroOrMore,
      "The first checkpoint of each interval of this length is kept for good; 0: none is"));
  keys.push_back(whole_key(
      "checkpoint.keep_best", "", &CheckpointSpec::keep_best, {0, 1'000'000},
      "Checkpoints with the best scores that are kept as well (docs/evaluation.md); 0: none is"));
  keys.push_back(whole_key("checkpoint.early_stop.patience", "scores", &CheckpointSpec::early_stop,
                           {0, 1'000'000},
                           "Consecutive scores without a better one after which the run ends with "
                           "exit code 0; 0: never"));
}

Key http_key(KeyText text, std::string OutputSpec::*field) {
  const std::string allowed = "auto, off, or an address: 8080, 10.0.0.7, 10.0.0.7:8080, [::]:8080";
  Key key = text_key(std::move(text), field, allowed);
  key.set = [field, allowed, set_text = key.set](const YamlNode& node, JobSpec& job) {
    std::string complaint = set_text(node, job);
    const std::string& given = job.output.*field;
    const bool is_word = given == "auto" || given == "off";
    return !complaint.empty() || is_word || parse_http_address(given)
               ? complaint
               : fmt::format("expected {}, not '{}'", allowed, given);
  };
  return key;
}

void add_output(Keys& keys) {
  keys.push_back(real_key("output.tick_kimg", kKimg, &OutputSpec::tick_kimg, kAboveZero,
                          "Interval between lines of progress"));
  keys.push_back(real_key("output.pictures_kimg", kKimg, &OutputSpec::pictures_kimg, kZeroOrMore,
                          "Interval between pictures of fakes; 0: only at the end"));
  keys.push_back(
      whole_key("output.grid", "pictures", &OutputSpec::grid, {1, 64}, "Side of a picture's grid"));
  keys.push_back(later(real_key(
      "output.histograms_kimg", kKimg, &OutputSpec::histograms_kimg, kZeroOrMore,
      "Interval between sets of TensorBoard histograms (weights, gradients, logits); 0: none")));
  keys.push_back(
      later(http_key({"output.http", "",
                      "Address of the run's live page and metrics; auto: for this user alone, at a "
                      "free port of the coordinator's host (docs/metrics.md)"},
                     &OutputSpec::http)));
  keys.push_back(later(choice_key("output.http_plain", &OutputSpec::http_plain,
                                  "Whether the page and its token pass between hosts without TLS: "
                                  "for a proxy or tunnel that encrypts")));
  keys.push_back(later(text_key({"output.control", "",
                                 "Where the running job accepts control: auto, a socket for this "
                                 "user alone; off; or an address and port (docs/control.md)"},
                                &OutputSpec::control, "auto, off or ADDRESS:PORT")));
  keys.push_back(file_or_none_key({"output.control_certificate", "",
                                   "TLS certificate, PEM; output.control uses it if it is set, "
                                   "output.http if other hosts can reach it"},
                                  &OutputSpec::control_certificate, "a file, or none"));
  keys.push_back(
      file_or_none_key({"output.control_key", "", "Key of output.control_certificate, PEM"},
                       &OutputSpec::control_key, "a file, or none"));
}

Keys make_table(const Recipe& recipe) {
  Keys keys;
  add_model_keys(recipe, keys);
  add_data_keys(keys);
  add_training_keys(keys);
  add_network_keys(recipe, keys);
  add_numerics(recipe, keys);
  add_layout(keys);
  add_placement_keys(recipe, keys);
  add_checkpoint(keys);
  add_evaluation_keys(keys);
  add_output(keys);
  return keys;
}

}  // namespace

const std::vector<Key>& key_table(const Recipe& recipe) {
  static PerRecipe<Keys> tables(make_table);
  return tables.of(recipe);
}

}  // namespace gangway
