#!/bin/bash
# systemctl, as far as the startup script and kubeadm call it, in a VM that has no systemd: two units, containerd and
# kubelet, each a process group with a log. What is enabled is remembered on the disk, what runs in memory.
set -o nounset -o pipefail

readonly RUNNING=/run/units
readonly ENABLED=/etc/systemd/system/multi-user.target.wants
mkdir -p "$RUNNING" "$ENABLED"

# The command of a unit. The kubelet's arguments are those of kubeadm's drop-in, 10-kubeadm.conf.
containerd_unit() {
  local socket=/run/containerd/containerd.sock
  mkdir -p "${socket%/*}"
  rm -f "$socket"
  exec containerd "$socket"
}

kubelet_unit() {
  local flags=/var/lib/kubelet/kubeadm-flags.env KUBELET_KUBEADM_ARGS=''
  # shellcheck disable=SC1090 # written by kubeadm in the VM
  [[ ! -e $flags ]] || . "$flags"
  # shellcheck disable=SC2086 # several arguments
  exec kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
    --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS
}

# Restart=always of both units. 10 s between attempts are kubeadm's own; they would only make a test longer.
keep_running() {
  while true; do
    ("$1_unit")
    sleep 1
  done
}

is_active() {
  [[ -e $RUNNING/$1 ]] && kill -0 -- "-$(<"$RUNNING/$1")" 2>/dev/null
}

start() {
  ! is_active "$1" || return 0
  setsid "$0" keep-running "$1" </dev/null >>"/var/log/$1.log" 2>&1 &
  printf '%s\n' "$!" >"$RUNNING/$1"
  # It counts as started once it can be talked to.
  if [[ $1 == containerd ]]; then
    until [[ -S /run/containerd/containerd.sock ]]; do sleep 0.05; done
  fi
}

stop() {
  is_active "$1" || return 0
  kill -TERM -- "-$(<"$RUNNING/$1")"
  while is_active "$1"; do sleep 0.05; done
  rm -f "$RUNNING/$1"
}

known() {
  case $1 in
    containerd | kubelet) command -v "$1" >/dev/null ;;
    *) false ;;
  esac
}

main() {
  local verb=$1 now='' unit name
  shift
  if [[ ${1-} == --now ]]; then
    now=yes
    shift
  fi
  case $verb in
    daemon-reload) return 0 ;;
    keep-running) keep_running "$1" ;;
    start-enabled)
      for unit in "$ENABLED"/*.service; do
        [[ ! -e $unit ]] || start "$(basename "$unit" .service)"
      done
      return 0
      ;;
  esac
  name=${1%.service}
  if ! known "$name"; then
    printf 'Unit %s.service could not be found.\n' "$name"
    return 4
  fi
  case $verb in
    enable)
      touch "$ENABLED/$name.service"
      [[ -z $now ]] || start "$name"
      ;;
    start) start "$name" ;;
    stop) stop "$name" ;;
    restart) stop "$name" && start "$name" ;;
    is-enabled) [[ -e $ENABLED/$name.service ]] && printf 'enabled\n' ;;
    is-active | status)
      if is_active "$name"; then
        printf 'active\n'
      else
        printf 'inactive\n'
        return 3
      fi
      ;;
    *)
      printf 'systemctl: %s is not known here\n' "$verb" >&2
      return 1
      ;;
  esac
}

main "$@"
