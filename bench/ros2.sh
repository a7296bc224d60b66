#!/usr/bin/env bash
# Measures the figures of docs/performance.md for ROS 2 over UDP, in a network namespace with only loopback.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
usage: bench/ros2.sh [PART]...

Runs all parts except large_lossy and large_best_effort, or the given ones. Each part builds its programs first. Run
nothing else on the machine meanwhile: at most four minutes per part, unless noted.

  udp, loss, large, blackout   see bench/README.md
  joining, flood               see tests/interop/tests/it/ (flood with WAVES=12: ten minutes)
  large_lossy                  half an hour
  large_best_effort            ten minutes
  footprint                    memory of idle programs

PROFILE=dev builds without optimization: shows whether a part works, not how fast.
END
}

in_private_network() {
  env -u ROS_MASTER_URI unshare --map-root-user --net --mount bash -c '
    ip link set lo up
    ip link set lo multicast on
    ip route add 224.0.0.0/4 dev lo
    mount -t tmpfs none /dev/shm
    exec "$@"' bench "$@"
}

profile=${PROFILE:-release}
folder=target/${profile/#dev/debug}

bench() {
  cargo build --quiet --profile "$profile" --locked -p runnel-cli --features bench
  in_private_network "$folder/runnel" bench "$@" --out "target/bench/results/$1"
}

# Runs the tests of a file of tests/interop whose names begin with the given text. It is an error if there are none.
interop() {
  cargo build --quiet --profile "$profile" --locked -p interop --bin runnel_ros2_talker --bin runnel_ros2_listener
  local run=(cargo test --quiet --profile "$profile" --locked -p interop --test it)
  "${run[@]}" --no-run
  in_private_network "${run[@]}" "ros2_$1" -- --nocapture --test-threads 1 "${@:2}" | tee "$log"
  if ! grep -q '^test result: ok\. [1-9]' "$log"; then
    echo "bench/ros2.sh: no test is named ros2_$1" >&2
    return 1
  fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT

part() {
  case $1 in
    udp | loss | large | blackout) bench "$1" ;;
    footprint) bench footprint --only dual-static runnel-static bare-static ;;
    joining) ROUNDS=${ROUNDS:-10} interop joining:: ;;
    flood)
      interop flood::
      for victim in cyclone fastdds; do VICTIM=$victim interop flood::fake_participant_flood; done
      ;;
    large_lossy) interop large::figures_of_long_messages --ignored ;;
    large_best_effort) interop large::figures_of_long_best_effort --ignored ;;
    -h | --help) usage ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
}

for name in "${@:-udp loss large blackout joining flood footprint}"; do
  for one in $name; do part "$one"; done
done
