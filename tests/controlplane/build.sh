#!/usr/bin/env bash
# Builds the Kubernetes of the tests into a cache outside the repository and prints that folder: etcd, the control plane,
# kubeadm, the kubelet and a container runtime that runs nothing, at the versions that go.mod pins. Five minutes once,
# nothing afterwards. What the folder KUBEBUILDER_ASSETS has is not built. A binary appears under its name when it is
# whole; an interrupted build goes on where it was, out of Go's own cache.
set -Eeuo pipefail
cd "$(dirname "$0")"

pinned() { sed -n "s|^\t$1 v\([0-9.]*\).*|\1|p" go.mod; }
kubernetes=$(pinned k8s.io/kubernetes)
etcd=$(pinned go.etcd.io/etcd/server/v3)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/tpu-node-group/kubernetes-$kubernetes-etcd-$etcd"

# Binary and package. `go build` would name etcd "server".
packages=(
    "etcd go.etcd.io/etcd/server/v3"
    "kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver"
    "kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager"
    "kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler"
    "kubeadm k8s.io/kubernetes/cmd/kubeadm"
    "kubelet k8s.io/kubernetes/cmd/kubelet"
    "criserver ./criserver"
)

is_there() {
    [ -x "${KUBEBUILDER_ASSETS:-/nonexistent}/$1" ] || {
        [ -x "$cache/$1" ] && { [ "$1" != criserver ] || [ "$cache/$1" -nt criserver/main.go ]; }
    }
}

# Without a version of their own, kubeadm and kubectl take them for v0.0.0 and refuse.
version=k8s.io/component-base/version
flags="-s -w -X $version.gitVersion=v$kubernetes"
flags+=" -X $version.gitMajor=${kubernetes%%.*} -X $version.gitMinor=$(cut -d. -f2 <<<"$kubernetes")"

build() { # build BINARY PACKAGE
    echo "building $1 (at $SECONDS s)" >&2
    CGO_ENABLED=0 nice -n 10 go build -trimpath -ldflags "$flags" -o "$cache/.partial-$1" "$2"
    mv "$cache/.partial-$1" "$cache/$1"
}

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9 # two checkouts share the cache
trap 'rm -f "$cache"/.partial-*' EXIT
for line in "${packages[@]}"; do
    read -r binary package <<<"$line"
    is_there "$binary" && continue
    command -v go >/dev/null || { echo "make control-plane: Go is needed to build $binary" >&2; exit 1; }
    build "$binary" "$package"
done
echo "$cache"
