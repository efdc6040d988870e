# Sourced by the tests of releases: muster-wait as a pod runs it.
# shellcheck shell=bash

# waiter_decides FOLDER SEEN COMMAND...: FOLDER is the volume with the decisions, which the program sees as SEEN; COMMAND runs
# the program below `env`. It goes when its run is listed, and fails when no decision comes.
waiter_decides() {
  local folder=$1 seen=$2 run=(MUSTER_OWNER_UID=uid MUSTER_RESTART_ATTEMPT=0 MUSTER_EPOCH=1)
  shift 2
  mkdir --parents "$folder"
  rm -f "$folder/started"
  expect_exit 1 env -i PATH=/usr/sbin:/usr/bin "${run[@]}" "$@" --dir "$seen" --timeout-seconds 1 --grace-seconds 0 --termination-log /dev/null &&
    printf 'uid/0/1\n' >"$folder/started" &&
    expect_exit 0 env -i PATH=/usr/sbin:/usr/bin "${run[@]}" "$@" --dir "$seen" --timeout-seconds 60 --termination-log /dev/null &&
    expect_exit 2 env -i PATH=/usr/sbin:/usr/bin "$@" --dir "$seen" --timeout-seconds 60 --termination-log /dev/null
}

expect_exit() {
  local want=$1 status=0
  shift
  "$@" || status=$?
  [[ $status -eq $want ]] || { echo "exit code $status, not $want: $*"; return 1; }
}
