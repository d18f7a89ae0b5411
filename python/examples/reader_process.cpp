// SPDX-License-Identifier: MIT
#include "python/examples/reader_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/environment.hpp"
#include "base/errors.hpp"
#include "own_reader.hpp"  // kReader, kStepOfReader: texts of the reader and of step.py
#include "python/read/python_sources.hpp"

namespace gangway::python {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// Descriptors, as in python/examples/reader.py.
constexpr int kRequests = 3;
constexpr int kAnswers = 4;
constexpr int kMemory = 5;

constexpr std::chrono::seconds kBeginDeadline{600};  // for a constructor that reads many files
constexpr std::chrono::seconds kUnsaidWait{5};       // importing PyTorch takes 2 to 3 s
/// Time for a reader past its deadline to report its position.
constexpr std::chrono::milliseconds kLastWords{300};

/// Bootstrap program, which reads the rest of the program from the pipe.
constexpr const char* kBeginning =
    "import os, sys\n"
    "requests = os.fdopen(3, 'rb')\n"
    "exec(compile(requests.read(int(requests.readline())), 'gangway/reader.py', 'exec'))\n"
    "read_all(requests, os.fdopen(4, 'wb'), 5, int(sys.argv[1]))\n";

/// Returns an environment equal on every worker, without MPI ranks; all cores serve the networks.
std::vector<std::string> environment_of_reader() {
  Environment all = read_environment();
  std::erase_if(all, [](const auto& variable) {
    const std::string& name = variable.first;
    return name.starts_with("PYTHON") || name.starts_with("OMPI_") || name.starts_with("PMIX_") ||
           name.ends_with("_NUM_THREADS") || name == "CUDA_VISIBLE_DEVICES";
  });
  std::vector<std::string> lines{
      "PYTHONHASHSEED=0",      "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1",
      "CUDA_VISIBLE_DEVICES=", "OMP_NUM_THREADS=1",         "MKL_NUM_THREADS=1",
      "OPENBLAS_NUM_THREADS=1"};
  for (const auto& [name, value] : all) {
    lines.push_back(name + "=" + value);
  }
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Moves a descriptor above the reader's fixed ones, so that placing those overwrites none.
FileDescriptor above_readers(int descriptor) {
  const FileDescriptor given(descriptor);
  return FileDescriptor(::fcntl(given.get(), F_DUPFD_CLOEXEC, kMemory + 1));
}

void require_there(const FileDescriptor& descriptor, const char* what) {
  if (descriptor.get() < 0) {
    throw EnvironmentError(fmt::format(
        "data.source: {} for a reader cannot be made: {}; raise ulimit -n or the limit of memory",
        what, std::strerror(errno)));
  }
}

/// While it lives, writing to a pipe of a dead reader returns an error on this thread and raises no
/// signal.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    (void)::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

ReaderProcess::ReaderProcess(const PythonSpec& spec, const std::string& executable) : spec_(spec) {
  const PythonSources sources = read_trusted_python(spec);
  std::array<int, 2> ask{-1, -1};
  std::array<int, 2> tell{-1, -1};
  (void)::pipe2(ask.data(), O_CLOEXEC);
  (void)::pipe2(tell.data(), O_CLOEXEC);
  requests_ = above_readers(ask[1]);
  answers_ = above_readers(tell[0]);
  memory_ = above_readers(::memfd_create("gangway examples", MFD_CLOEXEC));
  const FileDescriptor their_requests = above_readers(ask[0]);
  const FileDescriptor their_answers = above_readers(tell[1]);
  for (const FileDescriptor* one : std::initializer_list<const FileDescriptor*>{
           &requests_, &answers_, &their_requests, &their_answers}) {
    require_there(*one, "a pipe");
  }
  require_there(memory_, "memory");

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, their_requests.get(), kRequests);
  ::posix_spawn_file_actions_adddup2(&files, their_answers.get(), kAnswers);
  ::posix_spawn_file_actions_adddup2(&files, memory_.get(), kMemory);
  ::posix_spawn_file_actions_addclosefrom_np(&files, kMemory + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> words{executable, "-s",       "-P",
                                 "-c",       kBeginning, std::to_string(::getpid())};
  std::vector<std::string> variables = environment_of_reader();
  const int error = ::posix_spawn(&process_, executable.c_str(), &files, &attributes,
                                  pointers_to(words).data(), pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    process_ = -1;
    throw EnvironmentError(fmt::format("{}: cannot be started to read examples: {}", executable,
                                       std::strerror(error)));
  }

  Json files_of_class = Json::array();
  std::string texts;
  for (const auto& [path, text] : sources) {
    files_of_class.push_back({path, text.size()});
    texts += text;
  }
  const std::string_view reader = kReader;
  const std::string_view step = kStepOfReader;
  const Json begin{{"folder", (fs::current_path() / spec.folder()).string()},
                   {"module", spec.import_name()},
                   {"class", spec.python_class},
                   {"arguments", spec.arguments},
                   {"seed", spec.seed},
                   {"step", step.size()},
                   {"files", files_of_class}};
  write_all(fmt::format("{}\n{}{}\n{}{}", reader.size(), reader, begin.dump(), texts, step));
}

ReaderProcess::~ReaderProcess() {
  if (process_ > 0) {
    (void)::kill(process_, SIGKILL);
    (void)::waitpid(process_, nullptr, 0);
  }
}

void ReaderProcess::write_all(std::string_view text) {
  const WithoutPipeSignal without_signal;
  while (!text.empty()) {
    const ssize_t written = ::write(requests_.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      refuse_end();
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void ReaderProcess::refuse(const std::string& what) const { throw ConfigError(line_of(what)); }

std::string ReaderProcess::line_of(const std::string& what) const {
  const std::string file = spec_.name_in_folder();
  return what.starts_with(file + ":")
             ? fmt::format("{}: {}", spec_.key, what)
             : fmt::format("{}: {}:{}: {}", spec_.key, file, spec_.python_class, what);
}

void ReaderProcess::refuse_end() {
  int status = 0;
  (void)::kill(process_, SIGKILL);  // it may have closed its pipe and still run
  (void)::waitpid(std::exchange(process_, -1), &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    throw ReaderKilled(
        fmt::format("{}: the process that reads {} was killed: is there too little memory for {}?",
                    spec_.key, fs::path(spec_.file).filename().string(), spec_.python_class));
  }
  refuse(WIFSIGNALED(status) ? fmt::format("the process that reads it ended by signal {} ({})",
                                           WTERMSIG(status), ::strsignal(WTERMSIG(status)))
                             : fmt::format("the process that reads it has left with exit code {}",
                                           WEXITSTATUS(status)));
}

Json ReaderProcess::answer(std::chrono::milliseconds deadline,
                           const std::function<void()>& on_wait) {
  if (process_ < 0) {
    refuse("the process that reads it has ended");
  }
  const auto since = Clock::now();
  constexpr int kMillisecondsBetween = 1000;
  constexpr std::size_t kChunk = 1U << 16U;
  std::vector<char> chunk(kChunk);
  while (unread_.find('\n') == std::string::npos) {
    pollfd waiting{.fd = answers_.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, kMillisecondsBetween);
    if (ready == 0 && Clock::now() - since > deadline) {
      (void)::kill(process_, SIGUSR1);
      (void)::poll(nullptr, 0, static_cast<int>(kLastWords.count()));
      (void)::kill(process_, SIGKILL);
      (void)::waitpid(std::exchange(process_, -1), nullptr, 0);
      throw ReaderLate(line_of(fmt::format(
          "takes longer than {:g} s, and was ended; standard error has the line where it stood",
          std::chrono::duration<double>(deadline).count())));
    }
    if (ready == 0 && on_wait && Clock::now() - since > kUnsaidWait) {
      on_wait();
    }
    if (ready <= 0) {
      continue;
    }
    const ssize_t got = ::read(answers_.get(), chunk.data(), chunk.size());
    if (got == 0 || (got < 0 && errno != EINTR)) {
      refuse_end();
    }
    unread_.append(chunk.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  const std::size_t end = unread_.find('\n');
  Json said = Json::parse(unread_.substr(0, end), nullptr, /*allow_exceptions=*/false);
  unread_.erase(0, end + 1);
  if (!said.is_object()) {
    refuse("its reader's answer is no JSON; does other code write to its pipe?");
  }
  if (said.contains("error")) {
    refuse(said["error"].get<std::string>());
  }
  return said;
}

ReaderProcess::Description ReaderProcess::describe(const std::function<void()>& on_wait) {
  const Json said = answer(kBeginDeadline, on_wait);
  return {.size = said.at("size"),
          .classes = said.at("classes"),
          .fingerprint = said.at("fingerprint"),
          .collates = said.at("collates")};
}

void ReaderProcess::remember_in(const std::string& file, std::chrono::milliseconds deadline) {
  write_all(Json{{"hashes", file}}.dump() + "\n");
  (void)answer(deadline, {});
}

void ReaderProcess::read(std::span<const data::SeededExample> examples, data::NamedBatch& out,
                         std::chrono::milliseconds deadline) {
  Json request{{"indices", Json::array()}, {"seeds", Json::array()}};
  for (const data::SeededExample& example : examples) {
    request["indices"].push_back(example.index);
    request["seeds"].push_back(example.seed);
  }
  if (process_ < 0) {
    refuse("the process that reads it has ended");
  }
  write_all(request.dump() + "\n");
  const Json said = answer(deadline, {});
  out.tensors.clear();
  std::size_t size = 0;
  for (const Json& one : said.at("tensors")) {
    out.tensors.push_back({.name = one.at("name"),
                           .type = one.at("type"),
                           .shape = one.at("shape"),
                           .at = one.at("at"),
                           .bytes = one.at("bytes")});
    size = std::max(size, out.tensors.back().at + out.tensors.back().bytes);
  }
  out.bytes.resize(size);
  // Reads instead of mapping: a truncated memory file causes an error and no signal.
  for (std::size_t done = 0; done < size;) {
    const ssize_t got =
        ::pread(memory_.get(), out.bytes.data() + done, size - done, static_cast<off_t>(done));
    if (got <= 0) {
      refuse("its reader has changed the memory that examples lie in");
    }
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace gangway::python
