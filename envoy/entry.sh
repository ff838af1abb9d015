#!/bin/sh
# ingress-xds, also under the names /nginx-ingress-controller and /wait-shutdown, by which the Deployments of ingress-nginx call it.
self=$(readlink -f "$0")
lib=${self%/*}
bin=${lib%/lib/ingress-xds}/bin
name=${0##*/}
export PATH="$bin:$PATH"

case $name in
  nginx-ingress-controller | wait-shutdown) set -- "$name" "$@" ;;
esac
set -- "$bin/node" "$lib/dist/cli/main.js" "$@"

# Where the container may bind ports below 1024 (NET_BIND_SERVICE), this user gets it.
bind="--inh-caps +net_bind_service --ambient-caps +net_bind_service"
# shellcheck disable=SC2086
if [ -e "$lib/bind" ] && "$lib/bind" $bind -- true 2>/dev/null; then
  exec "$lib/bind" $bind -- "$@"
fi
exec "$@"
