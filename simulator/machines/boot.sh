#!/bin/bash
# Process 1 of a simulated VM that is a real machine: sets its namespaces up, starts its services, runs its startup script.
#
#   boot.sh FOLDER NAME ADDRESS
#
# It runs as root in namespaces of its own (network, mounts, processes, host name) and changes nothing outside: the file
# system below is read-only in there, and what is written goes to FOLDER/disk or to memory. It says "ready" when its
# network is up, and begins when a line comes. The end of its standard input is power off: process 1 ends, and the
# kernel with it all processes, mounts and interfaces of the VM.
set -o errexit -o nounset -o pipefail

readonly FOLDER=$1 NAME=$2 ADDRESS=$3
readonly DISK=$FOLDER/disk
readonly IMAGE=/run/image
readonly METADATA=http://metadata.google.internal/computeMetadata/v1

# What programs expect to find in /etc; the rest of the machine's own is nobody's business in there.
readonly OF_ETC=(alternatives bash.bashrc group ld.so.cache nsswitch.conf os-release passwd profile ssl)
# What a kubelet sets (pkg/kubelet/cm/container_manager_linux.go): it finds them set, as the kernel is not its own.
readonly KERNEL=(
  vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000
)

make_disk() {
  local name
  mkdir -p "$DISK/var/lib" "$DISK/var/log" "$DISK/etc"
  for name in "${OF_ETC[@]}"; do
    [[ ! -e /etc/$name ]] || cp -a "/etc/$name" "$DISK/etc/"
  done
  printf '%s\n' "$NAME" >"$DISK/etc/hostname"
  cat >"$DISK/etc/hosts" <<HOSTS
127.0.0.1 localhost
::1 localhost ip6-localhost
169.254.169.254 metadata.google.internal
169.254.169.253 logging.googleapis.com
$ADDRESS $NAME
HOSTS
}

mount_all() {
  local setting file program
  [[ -e $DISK/etc/hosts ]] || make_disk
  mount --bind "$DISK/etc" /etc
  mount --bind "$DISK/var/lib" /var/lib
  mount --bind "$DISK/var/log" /var/log
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir "$IMAGE" /run/lock /run/kernel
  # File by file, as they may lie in a folder that is covered below.
  for program in "$FOLDER"/image/*; do
    touch "$IMAGE/${program##*/}"
    mount --bind "$(readlink --canonicalize "$program")" "$IMAGE/${program##*/}"
  done
  for setting in "${KERNEL[@]}"; do
    file=/run/kernel/${setting//\//_}
    printf '%s\n' "${setting#*=}" >"$file"
    mount --bind "$file" "/proc/sys/${setting%=*}"
  done
  # `swapoff -a` must not find the swap of the machine below.
  printf 'Filename\tType\tSize\tUsed\tPriority\n' >/run/kernel/swaps
  mount --bind /run/kernel/swaps /proc/swaps
  mount -t tmpfs -o mode=1777 tmpfs /tmp
  mount -o remount,bind,ro /
}

# A pair of interfaces, one the other's far end: the way out leads nowhere. Whom the VM may reach listens in its network.
raise_network() {
  ip link set lo up
  ip address add 169.254.169.254/32 dev lo
  ip address add 169.254.169.253/32 dev lo
  ip link add eth0 type veth peer name outside
  ip address add "$ADDRESS/32" dev eth0
  ip link set outside up
  ip link set eth0 up
  ip route add default dev eth0
}

# As Google's guest agent does at each boot: it asks until there is an answer, which may be that there is no script.
run_startup_script() {
  local script=/run/startup-script status=''
  while [[ $status != 200 ]]; do
    status=$(curl --silent --header 'Metadata-Flavor: Google' --output "$script" --write-out '%{http_code}' \
      "$METADATA/instance/attributes/startup-script") || true
    case $status in
      200) chmod 700 "$script" ;;
      404) return 0 ;;
      *) sleep 1 ;;
    esac
  done
  "$script"
}

mount_all
raise_network
hostname "$NAME"
export PATH=$IMAGE:$PATH HOME=/root LOGGING_URL=http://logging.googleapis.com/v2/entries:write
printf 'ready\n'
read -r _
systemctl start-enabled </dev/null
run_startup_script </dev/null >>/var/log/startup-script.log 2>&1 &
# Blocks until power off; whatever loses its parent meanwhile is reaped by bash.
while read -r _; do :; done
