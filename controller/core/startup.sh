#!/bin/bash
# Joins this VM to a self-managed Kubernetes cluster, as soon as its join token is in its metadata.
#
# It is static: everything that differs between VMs comes from the metadata server. It runs at every boot. It waits for
# the token without polling and without a limit, because provisioning of a large slice takes as long as it takes.
# It must never print a token, hand one to a process as an argument, or leave one in a file.
#
# Attributes that it reads:
#   kubeadm-join-token              abcdef.0123456789abcdef; absent at first, removed after the join
#   kubeadm-control-plane-endpoint  host:port; without it, kubeadm-control-plane-ip and port 6443
#   kubeadm-ca-hash                 sha256:<hex>, several separated by commas
#   kubeadm-kubernetes-version      1.31: where to install from, unless kubeadm is in the image
#   kubeadm-taints                  key=value:effect, several separated by commas; may be empty
#   kube-labels                     key=value, several separated by commas
# What the environment may override is for tests only.

METADATA_URL=${METADATA_URL:-http://metadata.google.internal/computeMetadata/v1}
LOGGING_URL=${LOGGING_URL:-https://logging.googleapis.com/v2/entries:write}
# A prefix of all paths.
ROOT=${ROOT:-}

readonly LOG_NAME=tpu-node-bootstrap
# How long one hanging GET lasts; then the next begins.
readonly WAIT_SECONDS=60
# How long to wait for a fresh token before the next attempt with the same one.
readonly RETRY_SECONDS=15
readonly KUBELET_CONF=$ROOT/etc/kubernetes/kubelet.conf
readonly BOOTSTRAP_CONF=$ROOT/etc/kubernetes/bootstrap-kubelet.conf
# The id of the VM that joined from this disk.
readonly JOINED_MARK=$ROOT/var/lib/tpu-node-bootstrap/joined

# JSON is read by python3: the Debian and Ubuntu images of Compute Engine have it (cloud-init needs it), jq they lack.
# It prints NUL-separated pairs. Other attributes, such as this script itself, are of no interest here.
readonly ATTRIBUTES_FROM_JSON='
import json, sys
for key, value in json.load(sys.stdin).items():
    if key == "kube-labels" or key.startswith("kubeadm-"):
        sys.stdout.write(f"{key}\0{value}\0")
'
readonly BEARER_FROM_JSON='
import json, sys
print("Authorization: Bearer " + json.load(sys.stdin)["access_token"])
'
readonly ENTRY_FROM_ARGUMENTS='
import json, sys
log, project, zone, instance_id, instance, step, reason, at = sys.argv[1:]
print(json.dumps({
    "logName": f"projects/{project}/logs/{log}",
    "resource": {
        "type": "gce_instance",
        "labels": {"project_id": project, "zone": zone, "instance_id": instance_id},
    },
    "entries": [{
        "timestamp": at,
        "severity": "ERROR" if step == "failed" else "INFO",
        "jsonPayload": {"instance": instance, "step": step, "reason": reason},
    }],
}))
'

declare -A ATTRIBUTES=()
# Guest agents of Google begin with NONE: no ETag equals it, so the first answer comes at once.
ETAG=NONE
PROJECT='' ZONE='' NAME='' INSTANCE_ID='' KUBEADM_VERSION='' WORK=''

say() {
  printf 'tpu-node-bootstrap: %s\n' "$*" >&2
}

# ---- Metadata server

# metadata PATH [CURL OPTION...]: one value. Never through a proxy: tokens pass here.
metadata() {
  local path=$1
  shift
  curl --silent --show-error --fail --noproxy '*' --header 'Metadata-Flavor: Google' \
    --connect-timeout 5 --max-time 10 "$@" "$METADATA_URL/$path"
}

# As `metadata`, until there is an answer: the server may answer 503 while the host is being maintained.
metadata_surely() {
  until metadata "$@"; do
    sleep 1
  done
}

read_identity() {
  local zone_path
  PROJECT=$(metadata_surely project/project-id)
  zone_path=$(metadata_surely instance/zone)
  ZONE=${zone_path##*/}
  NAME=$(metadata_surely instance/name)
  INSTANCE_ID=$(metadata_surely instance/id)
}

# Reads the headers of a response and prints its ETag.
etag_of() {
  local name value
  while IFS=': ' read -r name value; do
    if [[ ${name,,} == etag ]]; then
      printf '%s' "${value%$'\r'}"
      return 0
    fi
  done
  return 1
}

# next_attributes SECONDS: returns when the attributes differ from those read last, or after SECONDS.
# The ETag is that of the response which brought the attributes: a second request could miss a change in between.
next_attributes() {
  local seconds=$1 body etag key value
  local -A fresh=()
  local query="recursive=true&alt=json&wait_for_change=true&timeout_sec=$seconds&last_etag=$ETAG"
  body=$(metadata "instance/attributes/?$query" --max-time $((seconds + 10)) --dump-header "$WORK/headers") || return 1
  etag=$(etag_of <"$WORK/headers") || return 1
  # printf is a builtin: the body, which holds the token, is no argument of a process.
  while IFS= read -r -d '' key && IFS= read -r -d '' value; do
    fresh[$key]=$value
  done < <(printf '%s' "$body" | python3 -IS -c "$ATTRIBUTES_FROM_JSON" && printf '.complete\0yes\0')
  # Taken only as a whole: with the new ETag and half of the attributes the next answer would not come. No key has a dot.
  [[ ${fresh[.complete]-} == yes ]] || return 1
  unset 'fresh[.complete]'
  ATTRIBUTES=()
  for key in "${!fresh[@]}"; do
    ATTRIBUTES[$key]=${fresh[$key]}
  done
  ETAG=$etag
}

# As `next_attributes`, until there is an answer.
next_attributes_surely() {
  until next_attributes "$1"; do
    sleep 1
  done
}

wait_for_token() {
  while [[ -z ${ATTRIBUTES[kubeadm-join-token]-} ]]; do
    next_attributes_surely "$WAIT_SECONDS"
  done
}

# ---- Reports

# report STEP [REASON]: booted, waiting, joining, joined or failed, for the operator and for people.
# In the background and at best effort: neither a slow Logging API nor a VM without a service account may hold up
# the join. The timestamp keeps the order.
report() {
  local step=$1 reason=${2:-} at
  at=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)
  say "$step${reason:+: $reason}"
  send_entry "$step" "$reason" "$at" >/dev/null 2>&1 &
}

send_entry() {
  local bearer
  bearer=$(metadata instance/service-accounts/default/token | python3 -IS -c "$BEARER_FROM_JSON") || return 0
  python3 -IS -c "$ENTRY_FROM_ARGUMENTS" "$LOG_NAME" "$PROJECT" "$ZONE" "$INSTANCE_ID" "$NAME" "$@" |
    curl --silent --fail --connect-timeout 5 --max-time 30 --header 'Content-Type: application/json' \
      --header @<(printf '%s\n' "$bearer") --data-binary @- "$LOGGING_URL"
}

# Copies lines, with the secret half of the token blanked out.
redacted() {
  local line secret=${ATTRIBUTES[kubeadm-join-token]-}
  secret=${secret#*.}
  while IFS= read -r line || [[ -n $line ]]; do
    printf '%s\n' "${line//"${secret:?}"/<redacted>}"
  done
}

# The line of a command's output that says what went wrong: what kubeadm's checks found first, else the last that looks
# like an error, else the last.
reason_in() {
  local line last='' error='' check=''
  while read -r line; do
    case $line in
      '[ERROR '*) check=${check:-$line} ;;
      error* | E:* | curl:*) error=${line#error: } ;;
      *) last=${line:-$last} ;;
    esac
  done
  printf '%.500s' "${check:-${error:-${last:-no reason was given}}}"
}

# ---- Packages

apt_get() {
  # Other runs of apt at boot hold dpkg's lock; a mirror may fail now and then.
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 -o Acquire::Retries=3 --quiet --yes "$@"
}

add_kubernetes_repository() {
  local url=https://pkgs.k8s.io/core:/stable:/v$1/deb/
  local key=$ROOT/etc/apt/keyrings/kubernetes.asc
  mkdir -p "$ROOT/etc/apt/keyrings" "$ROOT/etc/apt/sources.list.d"
  curl --silent --show-error --fail --location --retry 3 --max-time 60 --output "$key" "${url}Release.key" &&
    printf 'deb [signed-by=%s] %s /\n' "$key" "$url" >"$ROOT/etc/apt/sources.list.d/kubernetes.list"
}

# kubeadm sets the kubelet to systemd's cgroups; containerd must agree.
configure_containerd() {
  local config
  mkdir -p "$ROOT/etc/containerd"
  config=$(containerd config default) || return 1
  printf '%s\n' "${config//SystemdCgroup = false/SystemdCgroup = true}" >"$ROOT/etc/containerd/config.toml"
  systemctl restart containerd
}

install_containerd() {
  # Stays until the end: a retry must not take what is half made for the image's own.
  touch "$WORK/containerd"
  apt_get update && apt_get install containerd && apt-mark hold containerd && configure_containerd &&
    rm "$WORK/containerd"
}

install_kubernetes() {
  local version
  version=${ATTRIBUTES[kubeadm-kubernetes-version]-}
  if [[ ! $version =~ ^1\.[0-9]+$ ]]; then
    say "error: kubeadm is not in this image, and the attribute kubeadm-kubernetes-version says '$version', not 1.<minor>"
    return 1
  fi
  # An image may have brought one of the two and held it; they must be of one version.
  add_kubernetes_repository "$version" && apt_get update &&
    apt_get --allow-change-held-packages install kubeadm kubelet && apt-mark hold kubeadm kubelet
}

# What is there stays as it is: an image may bring its own.
install_packages() {
  if [[ -e $WORK/containerd ]] || ! command -v containerd >/dev/null; then
    install_containerd || return 1
  fi
  if ! command -v kubeadm >/dev/null || ! command -v kubelet >/dev/null; then
    install_kubernetes || return 1
  fi
  systemctl enable --now containerd && systemctl enable kubelet
}

# What kubeadm's preflight checks ask for; they say so themselves if it did not work. Lost at each boot.
prepare_kernel() {
  swapoff -a || say 'swap stays on'
  modprobe br_netfilter || say 'br_netfilter is not loaded'
  sysctl --quiet --write net.ipv4.ip_forward=1 || say 'IP forwarding stays off'
  # Asked for where the control plane has an IPv6 address. Of interfaces that come only: the VM's own keeps its routes.
  sysctl --quiet --write net.ipv6.conf.default.forwarding=1 || say 'IPv6 forwarding stays off'
}

install_packages_surely() {
  until install_packages >"$WORK/install.log" 2>&1; do
    cat "$WORK/install.log" >&2
    report failed "packages: $(reason_in <"$WORK/install.log")"
    # Also the way to hear of a corrected version.
    next_attributes_surely "$RETRY_SECONDS"
  done
}

# ---- Joining

# The control plane's host:port; an IPv6 address alone needs brackets.
endpoint() {
  local ip=${ATTRIBUTES[kubeadm-control-plane-ip]-}
  if [[ $ip == *:* ]]; then
    ip=[$ip]
  fi
  printf '%s' "${ATTRIBUTES[kubeadm-control-plane-endpoint]:-$ip:6443}"
}

# check ATTRIBUTE VALUE REGEX COMPLAINT: prints the complaint if the value is of another form.
check() {
  [[ $2 =~ ^$3$ ]] || printf 'the attribute %s %s; ' "$1" "$4"
}

# Prints what is wrong with the attributes, nothing if kubeadm can work with them. What passes is safe to write as YAML.
problem_of_attributes() {
  local hash='sha256:[0-9a-f]{64}' taint='[A-Za-z0-9./_-]+(=[A-Za-z0-9._-]*)?:(NoSchedule|PreferNoSchedule|NoExecute)'
  local label='[A-Za-z0-9./_-]+=[A-Za-z0-9._-]*'
  check kubeadm-join-token "${ATTRIBUTES[kubeadm-join-token]-}" '[a-z0-9]{6}\.[a-z0-9]{16}' 'is no bootstrap token'
  [[ $(endpoint) =~ ^[][A-Za-z0-9.:-]+:[0-9]+$ ]] ||
    printf 'neither kubeadm-control-plane-endpoint nor kubeadm-control-plane-ip says where the control plane is; '
  check kubeadm-ca-hash "${ATTRIBUTES[kubeadm-ca-hash]-}" "$hash(,$hash)*" 'is no list of sha256:<hex>'
  check kubeadm-taints "${ATTRIBUTES[kubeadm-taints]-}" "($taint(,$taint)*)?" 'is no list of key=value:effect'
  check kube-labels "${ATTRIBUTES[kube-labels]-}" "($label(,$label)*)?" 'is no list of key=value'
}

taints_yaml() {
  local taints=() taint key_value value
  IFS=, read -r -a taints <<<"${ATTRIBUTES[kubeadm-taints]-}"
  if [[ ${#taints[@]} == 0 ]]; then
    printf '  taints: []\n'
    return
  fi
  printf '  taints:\n'
  for taint in "${taints[@]}"; do
    key_value=${taint%:*} value=''
    [[ $key_value != *=* ]] || value=${key_value#*=}
    printf '    - {key: "%s", value: "%s", effect: "%s"}\n' "${key_value%%=*}" "$value" "${taint##*:}"
  done
}

# The kubelet's arguments: a map in v1beta3, a list in v1beta4. The label tells this VM from others of its name.
kubelet_arguments_yaml() {
  local api=$1 labels=${ATTRIBUTES[kube-labels]-}
  local provider_id="gce://$PROJECT/$ZONE/$NAME"
  labels="${labels:+$labels,}tpu.google.com/instance-id=$INSTANCE_ID"
  if [[ $api == v1beta3 ]]; then
    printf '    provider-id: "%s"\n    node-labels: "%s"\n' "$provider_id" "$labels"
  else
    printf '    - {name: provider-id, value: "%s"}\n    - {name: node-labels, value: "%s"}\n' "$provider_id" "$labels"
  fi
}

# join_configuration VERSION: v1beta4 came with kubeadm 1.31, which deprecated v1beta3. VERSION as in v1.31.4.
# Discovery is given up after a minute, not after kubeadm's five: with a token that was renewed meanwhile it is in vain.
join_configuration() {
  local minor=${1#v1.} api=v1beta4 hashes=()
  ((${minor%%.*} <= 30)) && api=v1beta3
  IFS=, read -r -a hashes <<<"${ATTRIBUTES[kubeadm-ca-hash]-}"
  printf 'apiVersion: kubeadm.k8s.io/%s\nkind: JoinConfiguration\n' "$api"
  [[ $api == v1beta3 ]] || printf 'timeouts:\n  discovery: 1m\n'
  printf 'discovery:\n'
  [[ $api == v1beta4 ]] || printf '  timeout: 1m\n'
  printf '  bootstrapToken:\n    token: "%s"\n' "${ATTRIBUTES[kubeadm-join-token]-}"
  printf '    apiServerEndpoint: "%s"\n    caCertHashes:\n' "$(endpoint)"
  printf '      - "%s"\n' "${hashes[@]}"
  printf 'nodeRegistration:\n  name: "%s"\n' "$NAME"
  printf '  criSocket: "unix:///run/containerd/containerd.sock"\n  kubeletExtraArgs:\n'
  kubelet_arguments_yaml "$api"
  taints_yaml
}

reset_node() {
  kubeadm reset --force >/dev/null 2>&1 || say 'kubeadm reset failed'
  rm -f "$BOOTSTRAP_CONF" "$KUBELET_CONF"
}

# One attempt with the attributes at hand. Prints the reason of a failure. The configuration, which holds the token,
# goes through a pipe and is no file at any time; kubeadm's own for the kubelet (BOOTSTRAP_CONF) ends with the attempt.
join_once() {
  local problem version outcome=0
  problem=$(problem_of_attributes)
  if [[ -n $problem ]]; then
    printf '%s' "${problem%; }"
    return 1
  fi
  if ! version=${KUBEADM_VERSION:-$(kubeadm version --output short)}; then
    printf 'kubeadm does not run'
    return 1
  fi
  join_configuration "$version" | kubeadm join --config /dev/stdin 2>&1 | redacted >"$WORK/join.log" || outcome=1
  rm -f "$BOOTSTRAP_CONF"
  cat "$WORK/join.log" >&2
  if ((outcome)); then
    reason_in <"$WORK/join.log"
  fi
  return "$outcome"
}

join_surely() {
  local reason
  wait_for_token
  report joining
  until reason=$(join_once); do
    report failed "$reason"
    reset_node
    # A renewed token ends this wait at once.
    next_attributes_surely "$RETRY_SECONDS"
    wait_for_token
    report joining
  done
  mkdir -p "${JOINED_MARK%/*}"
  printf '%s\n' "$INSTANCE_ID" >"$JOINED_MARK"
}

# ---- What this disk has been through

joined_id() {
  cat "$JOINED_MARK" 2>/dev/null
}

# fresh | joined | lost (this VM joined, but its credentials are gone) | foreign (the disk comes from another VM)
disk_state() {
  local id
  id=$(joined_id)
  if [[ -n $id && $id != "$INSTANCE_ID" ]]; then
    printf 'foreign'
  elif [[ -e $KUBELET_CONF ]]; then
    printf 'joined'
  elif [[ -n $id ]]; then
    printf 'lost'
  else
    printf 'fresh'
  fi
}

# All that can be done before the token is there.
prepare() {
  next_attributes_surely "$WAIT_SECONDS"
  install_packages_surely
  KUBEADM_VERSION=$(kubeadm version --output short) || KUBEADM_VERSION=''
}

main() {
  # In memory, and for root only.
  WORK=$(mktemp -d "$ROOT/run/tpu-node-bootstrap.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  read_identity
  report booted
  prepare_kernel
  case $(disk_state) in
    joined)
      say 'this VM has joined before; the kubelet goes on by itself'
      ;;
    lost)
      report failed "this VM had joined, but $KUBELET_CONF is gone: recreate the VM, or give it a new token"
      prepare
      join_surely
      ;;
    foreign)
      say 'this disk belonged to another VM: its membership is discarded'
      prepare
      reset_node
      rm -f "$JOINED_MARK"
      report waiting
      join_surely
      ;;
    fresh | *)
      prepare
      report waiting
      join_surely
      ;;
  esac
  report joined
  wait
}

# Sourced (by tests), it only defines.
if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -o errexit -o nounset -o pipefail
  main
fi
