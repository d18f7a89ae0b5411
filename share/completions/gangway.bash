# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2012,SC2207
# Completes gangway: commands and options from its --help, keys from the job file, names of runs from runs/.
#
#   . share/completions/gangway.bash    in bash or zsh; ./launch/setup link does it for every bash
[ -z "${ZSH_VERSION:-}" ] || { autoload -Uz compinit bashcompinit && compinit && bashcompinit; }

# Prints the options and subcommands that a --help of CLI11 or argparse lists.
_gangway_words() {
  awk '/^ +-/ { sub(/^ +/, ""); sub(/  .*/, ""); gsub(/\{[^}]*\}/, ""); for (i = split($0, words, /[ ,]+/); i > 0; --i)
      if (words[i] ~ /^--?[a-z]/) print words[i] }
    /^  [a-z][a-z0-9-]+  / { print $1 }
    /^usage: gangway [a-z]+ \[-h\] \{/ { gsub(/.*\{|\}.*/, ""); gsub(/,/, "\n"); print }' <<<"$1"
}

# Prints the keys that apply to the job, as training.r1.gamma=
_gangway_keys() {
  "$1" job "$2" 2>/dev/null | awk -F: '!/^#/ { depth = match($1, /[^ ]/) - 1; path[depth] = substr($1, depth + 1)
    if ($2 != "") { key = ""; for (i = 0; i <= depth; i += 2) key = key (i ? "." : "") path[i]; print key "=" } }'
}

_gangway() {
  local current=${COMP_WORDS[COMP_CWORD]} command=("${COMP_WORDS[0]}") job="" help words i
  help=$("${command[@]}" --help 2>/dev/null)
  words=$(_gangway_words "$help")
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == *.yaml ]]; then
      job=${COMP_WORDS[i]}
    elif [[ ${COMP_WORDS[i]} != -* ]] && grep -qxF -- "${COMP_WORDS[i]}" <<<"$words"; then
      command+=("${COMP_WORDS[i]}")
      help=$("${command[@]}" --help 2>/dev/null)
      words=$(_gangway_words "$help")
    fi
  done
  if [[ $current != -* ]]; then
    words=$(grep -v '^-' <<<"$words")
    [[ $help != *"  RUN"* && $help != *"run RUN"* ]] || words+=" $(ls -d runs/[0-9]*-*/ 2>/dev/null | sed -E 's:^runs/[0-9]+-(.*)/$:\1:')"
    [ -z "$job" ] || words+=" $(_gangway_keys "${COMP_WORDS[0]}" "$job")"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -o default -F _gangway gangway
