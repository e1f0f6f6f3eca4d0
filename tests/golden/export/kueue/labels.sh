#!/bin/sh
# Labels of the nodes of lab, written by fabric from its cluster spec: run it again after a change of the spec.
set -e
kubectl label node --overwrite z01-r001-h1 z01-r001-h2 fabric.topograph.run/tier-0=z01-rtsw001 fabric.topograph.run/tier-1=zone01
kubectl label node --overwrite z01-r002-h1 z01-r002-h2 fabric.topograph.run/tier-0=z01-rtsw002 fabric.topograph.run/tier-1=zone01
kubectl label node --overwrite z02-r001-h1 z02-r001-h2 fabric.topograph.run/tier-0=z02-rtsw001 fabric.topograph.run/tier-1=zone02
kubectl label node --overwrite z02-r002-h1 z02-r002-h2 fabric.topograph.run/tier-0=z02-rtsw002 fabric.topograph.run/tier-1=zone02
