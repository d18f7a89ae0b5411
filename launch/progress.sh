# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by launch/setup and launch/build: prints an aligned line a step, one line at a failure.
#
# The caller sets `program` (first column) and `log` (file that takes all output of the steps). With announces=no nothing says
# what is going on: another program updates the terminal's last line.

exit_internal=1     # our code does not build
exit_environment=6  # the machine lacks something (base/errors.hpp, ExitCode::kEnvironment)

# seconds_since EPOCHREALTIME: seconds with one decimal, without starting a process.
seconds_since() {
  local start=${1/[.,]/} now=${EPOCHREALTIME/[.,]/}
  local tenths=$(((now - start) / 100000))
  printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

# step_line NAME RESULT SECONDS
step_line() {
  [ -t 1 ] && printf '\r\033[K'
  printf '%-8s%-22s%-44s%8s s\n' "$program" "$1" "$2" "$3"
}

# step_announce NAME WHAT: on a terminal, what is going on now; the step's line replaces it.
step_announce() {
  if [ -t 1 ] && [ "${announces:-yes}" = yes ]; then
    printf '\r\033[K%-8s%-22s%-44s' "$program" "$1" "$2 ..."
  fi
}

# fail CODE STEP PROBLEM REMEDY: prints one line and exits.
fail() {
  [ -t 1 ] && printf '\r\033[K'
  printf '%s: %s: %s; %s (log: %s)\n' "$program" "$2" "$3" "$4" "$log" >&2
  exit "$1"
}

# free_kib PATH: KiB that the file system of PATH has left.
free_kib() { df -Pk -- "$1" | awk 'NR == 2 { print $4 }'; }

# path_line: says how gangway gets on PATH, unless it is there.
path_line() {
  [ "$(readlink -f "$(command -v gangway)")" = "$root/build/release/bin/gangway" ] ||
    printf '%-8s%-22s%s\n' PATH gangway ". .venv/bin/activate, or for every shell ./launch/setup link"
}
