// SPDX-License-Identifier: MIT
#include "launch/hosts/ask_hosts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <list>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/file_descriptor.hpp"
#include "base/this_host.hpp"

namespace gangway::launch {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr int kClockRounds = 8;          // the quickest counts
constexpr milliseconds kPatience{3000};  // mpirun takes two seconds after a SIGTERM

std::string addresses_of_this_host() {
  std::string list;
  for (const OwnAddress& own : own_addresses()) {
    list += fmt::format("{}{}", list.empty() ? "" : ",", own.address);
  }
  return list.empty() ? "127.0.0.1" : list;
}

/// An mpirun with one rank on one host, and what is said to and by it.
class HostTalk {
 public:
  HostTalk(std::string name, const std::vector<std::string>& words) {
    host_.name = std::move(name);
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
      throw EnvironmentError("no pipes for the hosts: raise ulimit -n, or ask fewer at once");
    }
    const FileDescriptor its_input(in[0]);
    input_ = FileDescriptor(in[1]);
    output_ = FileDescriptor(out[0]);
    const FileDescriptor its_output(out[1]);
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    child_ = ::fork();
    if (child_ == 0) {
      become(words, its_input.get(), its_output.get());
    }
    if (child_ < 0) {
      throw EnvironmentError("mpirun cannot be started: raise ulimit -u, or ask fewer at once");
    }
  }
  HostTalk(const HostTalk&) = delete;
  HostTalk& operator=(const HostTalk&) = delete;
  HostTalk(HostTalk&&) = delete;
  HostTalk& operator=(HostTalk&&) = delete;
  /// It ends with its input; where that does not help, in another way.
  ~HostTalk() {
    input_.reset();
    if (!host_.clock) {
      ::kill(child_, SIGTERM);
    }
    const auto end = steady_clock::now() + kPatience;
    while (!is_closed_ && steady_clock::now() < end) {
      pollfd waiting{.fd = output_.get(), .events = POLLIN, .revents = 0};
      (void)::poll(&waiting, 1, static_cast<int>(kPatience.count()));
      read();
    }
    if (!is_closed_) {
      ::kill(child_, SIGKILL);
    }
    ::waitpid(child_, nullptr, 0);
  }

  [[nodiscard]] int descriptor() const { return is_over_ ? -1 : output_.get(); }
  [[nodiscard]] bool is_over() const { return is_over_; }

  void read() {
    std::array<char, 4096> bytes{};
    for (;;) {
      const ssize_t size = ::read(output_.get(), bytes.data(), bytes.size());
      if (size <= 0) {
        is_closed_ = size == 0 || (errno != EAGAIN && errno != EINTR);
        is_over_ = is_over_ || is_closed_;
        return;
      }
      rest_.append(bytes.data(), static_cast<std::size_t>(size));
      for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
        hear(rest_.substr(0, end));
        rest_.erase(0, end + 1);
      }
    }
  }

  /// @param otherwise  the complaint where it has said nothing
  AskedHost result(const std::string& otherwise) {
    if (!host_.facts) {
      host_.complaint = said_.empty() ? otherwise : said_;
    }
    return host_;
  }

 private:
  [[noreturn]] static void become(const std::vector<std::string>& words, int input, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)std::signal(SIGPIPE, SIG_DFL);
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));  // execvp does not write
    }
    arguments.push_back(nullptr);
    ::execvp(arguments.front(), arguments.data());
    constexpr std::string_view kMissing = "mpirun was not found: install openmpi-bin\n";
    (void)!::write(STDOUT_FILENO, kMissing.data(), kMissing.size());
    ::_exit(127);
  }

  void hear(const std::string& line) {
    if (line.starts_with(kFactsWord)) {
      host_.facts = parse_facts(std::string_view(line).substr(kFactsWord.size()));
      ask_for_clock();
    } else if (line.starts_with(kClockWord)) {
      take_clock(std::string_view(line).substr(kClockWord.size()));
    } else if (line.find_first_not_of(" -\t") != std::string::npos && said_.empty()) {
      said_ = line;  // of several lines the first says most
    }
  }

  void ask_for_clock() {
    asked_ = steady_clock::now();
    asked_at_ = system_clock::now();
    if (::write(input_.get(), "\n", 1) != 1) {
      is_over_ = true;
    }
  }

  void take_clock(std::string_view text) {
    const auto half = (steady_clock::now() - asked_) / 2;
    std::int64_t count = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), count).ec != std::errc{}) {
      return;
    }
    const auto theirs = nanoseconds(count);
    const auto ours = asked_at_.time_since_epoch() + half;
    if (!host_.clock || half < host_.clock->error) {
      host_.clock = {.ahead = theirs - ours, .error = half};
    }
    if (++rounds_ < kClockRounds) {
      ask_for_clock();
    } else {
      input_.reset();
      is_over_ = true;
    }
  }

  AskedHost host_;
  FileDescriptor input_;
  FileDescriptor output_;
  pid_t child_ = -1;
  std::string rest_;  ///< of a line that is not complete yet
  std::string said_;
  steady_clock::time_point asked_;
  system_clock::time_point asked_at_;
  int rounds_ = 0;
  bool is_over_ = false;    ///< it will say nothing more that counts
  bool is_closed_ = false;  ///< and nothing at all
};

std::vector<std::string> words_for(const std::string& name, const std::filesystem::path& program,
                                   const std::vector<std::string>& forwarded) {
  std::vector<std::string> words{"mpirun", "-n", "1", "--host", name, "--bind-to", "none"};
  for (const std::string& variable : forwarded) {
    words.insert(words.end(), {"-x", variable});
  }
  words.insert(words.end(), {program.string(), "host-facts", addresses_of_this_host()});
  return words;
}

}  // namespace

std::vector<AskedHost> ask_hosts(const std::vector<std::string>& names,
                                 const std::filesystem::path& program,
                                 const std::vector<std::string>& forwarded, milliseconds limit) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // of one that has ended meanwhile
  std::list<HostTalk> talks;
  for (const std::string& name : names) {
    talks.emplace_back(name, words_for(name, program, forwarded));
  }
  const auto end = steady_clock::now() + limit;
  const auto is_over = [](const HostTalk& talk) { return talk.is_over(); };
  while (!std::ranges::all_of(talks, is_over) && steady_clock::now() < end) {
    std::vector<pollfd> waiting;
    for (const HostTalk& talk : talks) {
      waiting.push_back({.fd = talk.descriptor(), .events = POLLIN, .revents = 0});
    }
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    (void)::poll(waiting.data(), waiting.size(), std::max(0, static_cast<int>(left.count())));
    for (HostTalk& talk : talks) {
      if (!talk.is_over()) {
        talk.read();
      }
    }
  }
  std::vector<AskedHost> hosts;
  for (HostTalk& talk : talks) {
    hosts.push_back(
        talk.result(fmt::format("nothing came within {} s",
                                std::chrono::duration_cast<std::chrono::seconds>(limit).count())));
  }
  return hosts;
}

}  // namespace gangway::launch
