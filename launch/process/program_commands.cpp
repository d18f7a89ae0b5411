// SPDX-License-Identifier: MIT
#include "launch/process/program_commands.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/build_id.hpp"
#include "base/errors.hpp"
#include "base/system/open_files.hpp"
#include "base/system/output_check.hpp"
#include "base/system/trusted_code.hpp"
#include "base/text/suggestion.hpp"
#include "base/text/utf8.hpp"

namespace gangway::launch {
namespace {

/// Option of every command, at any position.
constexpr const char* kTrust = "--trust";

void add_commands(CLI::App& app, CommandLine& line, const ProgramCommands& commands) {
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("gangway {} (build {})", GANGWAY_VERSION, build_id()));
  for (const AddCommand add : commands.own) {
    add(app, line);
  }
  for (const OtherCommand& other : commands.others) {
    CLI::App* command = app.add_subcommand(other.name, other.what);
    command->footer(fmt::format("gangway {} --help says more", other.name));
    if (std::string_view(other.what).empty()) {
      command->group("");  // hidden
    }
  }
  app.footer(
      "Examples:\n"
      "  gangway run examples/fashion-mnist.yaml -n 2        train, or resume\n"
      "  gangway digest fashion-mnist                        compare two trained states\n"
      "  gangway sample fashion-mnist --seeds 0-63 -o grid.png\n"
      "Every command has --help. With --trust it runs the code that a job names (a library, "
      "TorchScript) though other users can write to its files (SECURITY.md).");
}

/// Reports unknown commands: CLI11 would only say that a subcommand is missing.
void require_known_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    known.push_back(command->get_name());
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const auto nearest = nearest_word(name, known);
    throw ConfigError(fmt::format("no command '{}'{}: see 'gangway --help'", name,
                                  nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""));
  }
}

/// Prints one line per problem, each with the program's name.
void complain(std::string_view said) {
  const std::string words = plain(said);
  std::string_view message = words;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    // One write: mpirun merges the lines of several hosts into one stream.
    std::cerr << "gangway: " + std::string(message.substr(0, end)) + '\n';
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  std::cerr << std::flush;
}

}  // namespace

int run_command_line(const ProgramCommands& commands, const std::vector<std::string>& typed,
                     Environment environment) {
  std::vector<std::string> arguments = typed;
  if (std::erase(arguments, kTrust) > 0) {  // for the program that reads the job
    environment[kTrustVariable] = "1";
    ::setenv(kTrustVariable, "1", /*overwrite=*/1);
  }
  const std::string first = arguments.size() > 1 ? arguments[1] : std::string();
  const auto other = std::ranges::find(commands.others, first, &OtherCommand::name);
  if (other != commands.others.end() && std::string_view(other->program) == kPython) {
    become_python(arguments, environment);
  }
  if (other != commands.others.end()) {
    become(other->program, {arguments.begin() + 1, arguments.end()}, arguments.front());
  }
  CommandLine line{.environment = environment, .typed = typed, .action = {}};
  CLI::App app(
      "Gangway trains GANs on many workers; the job decides the numbers, the layout only the "
      "speed.",
      "gangway");
  add_commands(app, line, commands);
  if (!first.empty() && first.front() != '-') {
    require_known_command(app, first);
  }
  std::vector<std::string> reversed(
      arguments.rbegin(), arguments.rend() - (arguments.empty() ? 0 : 1));  // reversed for CLI11
  try {
    app.parse(reversed);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help, --version
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format(
        "{}: see 'gangway {}--help'", error.what(),
        app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name() + " "));
  }
  return line.action();
}

int main_of(const ProgramCommands& commands, const std::vector<std::string>& typed) {
  raise_open_files();  // also for programs that it becomes or starts
  try {
    const int code = run_command_line(commands, typed, read_environment());
    if (code == 0) {
      require_output_taken();
    }
    return code;
  } catch (const Error& error) {
    complain(error.what());
    return static_cast<int>(error.code());
  } catch (const std::filesystem::filesystem_error& error) {
    complain(fmt::format("{}: look at this path's disk and rights", error.what()));
    return static_cast<int>(ExitCode::kEnvironment);
  } catch (const std::exception& error) {
    complain(std::string("internal: ") + error.what());
    return static_cast<int>(ExitCode::kInternal);
  }
}

}  // namespace gangway::launch
