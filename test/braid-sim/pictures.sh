#!/bin/sh
# Usage: pictures.sh BRAID_SIM. docs/schedules.sh draws the pictures that are in docs/images, and the page shows each.
set -eu
docs=$(dirname "$0")/../../docs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bash "$docs/schedules.sh" "$1" "$work"
for picture in "$work"/*.svg; do
  name=$(basename "$picture")
  cmp "$picture" "$docs/images/$name"
  grep -qF "(images/$name)" "$docs/Schedules.md" || { echo "docs/Schedules.md does not show $name"; exit 1; }
done
for picture in "$docs"/images/schedule-*.svg; do
  test -f "$work/$(basename "$picture")" || { echo "docs/schedules.sh does not draw $picture"; exit 1; }
done
