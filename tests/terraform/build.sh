#!/usr/bin/env bash
# Builds what the Terraform tests need into a cache outside the repository and prints that folder: the google provider
# that has the real one's schema and nothing behind it (provider/), as a mirror that Terraform installs from; tflint; and
# checkov, which has a hundred dependencies and so an environment of its own. Three minutes once, nothing afterwards.
set -Eeuo pipefail
cd "$(dirname "$0")"

#: Of the schema in provider/schema.json.
google=7.46.0
tflint=0.64.0
cache="${XDG_CACHE_HOME:-$HOME/.cache}/tpu-node-group/terraform"
platform="$(go env GOOS)_$(go env GOARCH)"
mirror="$cache/mirror/registry.terraform.io/hashicorp/google/$google/$platform"
provider="$mirror/terraform-provider-google_v$google"

# By content, not by age: a checkout may be older than the cache, and differ.
source_sum() { cat provider/*.go provider/go.* provider/schema.json | sha256sum | cut -d' ' -f1; }

mkdir -p "$mirror"
exec 9>"$cache/.lock"
flock 9 # two checkouts share the cache
if [ ! -x "$provider" ] || [ "$(cat "$cache/provider.sum" 2>/dev/null)" != "$(source_sum)" ]; then
    echo "building the test provider" >&2
    # Under another name until it is whole: Terraform takes every file of the mirror.
    (cd provider && CGO_ENABLED=0 nice -n 10 go build -trimpath -ldflags "-s -w" -o "$cache/.partial-provider" .)
    mv "$cache/.partial-provider" "$provider"
    source_sum >"$cache/provider.sum"
fi
if [ ! -x "$cache/tflint-$tflint" ]; then
    echo "building tflint $tflint" >&2
    GOBIN="$cache/.partial-bin" CGO_ENABLED=0 nice -n 10 \
        go install -trimpath -ldflags "-s -w" "github.com/terraform-linters/tflint@v$tflint"
    mv "$cache/.partial-bin/tflint" "$cache/tflint-$tflint"
    rmdir "$cache/.partial-bin"
fi
ln -sf "tflint-$tflint" "$cache/tflint"
checkov=checkov-$(sha256sum checkov.txt | cut -c1-12)
if [ ! -x "$cache/$checkov/bin/checkov" ]; then
    echo "installing checkov" >&2
    rm -rf "${cache:?}/$checkov"
    python3 -m venv "$cache/$checkov"
    "$cache/$checkov/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r checkov.txt >&2 ||
        { rm -rf "${cache:?}/$checkov"; exit 1; }
fi
ln -sfn "$checkov" "$cache/checkov"
cat >"$cache/terraformrc" <<RC
disable_checkpoint = true
provider_installation {
  filesystem_mirror {
    path = "$cache/mirror"
  }
}
RC
echo "$cache"
