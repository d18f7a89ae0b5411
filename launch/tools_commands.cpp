// SPDX-License-Identifier: MIT
#include <array>

#include "launch/commands.hpp"
#include "launch/process/command_list.hpp"

namespace gangway::launch {
namespace {

constexpr std::array kOwn{add_advise_command,   add_data_commands,       add_job_command,
                          add_plan_command,     add_ranks_command,       add_store_times_command,
                          add_run_view_command, add_doctor_facts_command};

}  // namespace

ProgramCommands tools_commands() { return {.own = kOwn, .others = {}}; }

}  // namespace gangway::launch
