# SPDX-License-Identifier: MIT
# Sourced by the scripts that act on a host of a running cluster. Called from outside the cluster, it starts the script
# again inside. Sets host (the script's first argument) and holder (the process that holds the host's namespaces).
state=/run/gangway-cluster
self=$(readlink -f -- "$0")

fail() {
  echo "cluster: $*" >&2
  exit 1
}

# Prints this user's processes whose child is the first process of a process namespace.
running_clusters() {
  local process
  for process in $(pgrep -u "$EUID" -f 'cluster/run [1-9]'); do
    awk '/^PPid:/ { parent = $2 } /^NSpid:/ && NF > 2 && $NF == 1 { print parent }' "/proc/$process/status" 2>/dev/null
  done
}

if [ ! -d "$state" ]; then
  mapfile -t clusters < <(running_clusters)
  cluster=${GANGWAY_CLUSTER:-${clusters[0]:-}}
  [ -n "$cluster" ] || fail "none is running: tests/cluster/run HOSTS RATE -- COMMAND starts one"
  [ -n "${GANGWAY_CLUSTER:-}" ] || [ ${#clusters[@]} = 1 ] ||
    fail "several are running: set GANGWAY_CLUSTER to the process of one, of ${clusters[*]}"
  first=$(pgrep -P "$cluster") || fail "process $cluster (GANGWAY_CLUSTER) runs no cluster"
  user=()
  [ "$EUID" = 0 ] || user=(-U --preserve-credentials)
  exec nsenter -t "$first" "${user[@]}" -m -p sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "$self" "$@"
fi

host=${1:-}
[[ $host =~ ^host[0-9]+$ ]] && [ -r "$state/$host" ] || fail "no host '$host' in this cluster: usage: $usage"
holder=$(<"$state/$host")
[ -e "/proc/$holder/ns/net" ] || fail "$host is dead"
taskset -cp "$(taskset -cp "$holder" | sed 's/.*: //')" $$ >/dev/null  # the host's processors
shift
