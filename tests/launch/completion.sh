#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# share/completions/gangway.bash offers what the commands' --help, a job file and runs/ have. From the project's folder.
set -u
. share/completions/gangway.bash
status=0

# offers "FIRST ..." WORD...: the words that Tab offers for the last WORD
offers() {
  COMP_WORDS=("$GANGWAY_BIN/gangway" "${@:2}")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _gangway
  [ "${COMPREPLY[*]}" = "$1" ] || { echo "after 'gangway ${*:2}': '${COMPREPLY[*]}' instead of '$1'"; status=1; }
}

offers "checkpoints checkpoint" check
offers "pin" checkpoints pi
offers "--workers" run --work
offers "job slurm k8s docker examples" init ""
offers "overlap" bench ov
offers "--minutes" init job --min
offers "training.r1.gamma=" run examples/fashion-mnist.yaml training.r1.g
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
mkdir -p "$folder/runs/00003-first" && cd "$folder" || exit
offers "first" sample fir
offers "" run fir
exit $status
