#!/bin/sh
# Usage: html.sh BRAID_SIM. Opens the pages that `draw --format html` makes in a headless browser and measures them: all
# that is drawn is visible, inside its picture and not on top of other text. Skipped where there is no Chromium.
set -eu
sim=$1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/measure.html" <<'END'
<script>
const faults = [], inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const pictures = [...document.querySelectorAll("svg")], boxes = document.querySelectorAll("rect title, path title").length;
for (const picture of pictures) {
  const frame = picture.getBoundingClientRect(), texts = [...picture.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  if (!(frame.width > 0 && frame.height > 0)) faults.push("a picture without size");
  for (const shape of picture.querySelectorAll("rect, text"))
    if (!inside(shape.getBoundingClientRect(), frame)) faults.push("outside: " + shape.outerHTML.slice(0, 80));
  for (let i = 0; i < texts.length; ++i)
    for (let j = 0; j < i; ++j) {
      const a = texts[i][1], b = texts[j][1];
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
        faults.push("overlap: " + texts[i][0] + " and " + texts[j][0]);
    }
}
const loads = performance.getEntriesByType("resource").length;
if (loads) faults.push(loads + " loads from elsewhere");
document.body.append("measured " + pictures.length + " pictures, " + boxes + " actions, " + faults.length + " faults " + faults.slice(0, 5).join("; "));
</script>
END

# NAME ACTIONS OPTION...: so many computations are drawn.
page() {
  name=$1 actions=$2
  shift 2
  "$sim" draw "$@" --format html -o "$work/$name.html"
  cat "$work/measure.html" >> "$work/$name.html"
  "$browser" --headless --no-sandbox --disable-gpu --window-size=1400,1000 --enable-logging=stderr --dump-dom \
    "file://$work/$name.html" > "$work/dom" 2> "$work/log"
  measured=$(grep -o "measured [0-9]* pictures.*" "$work/dom" | tail -1) || { echo "$name: not measured"; cat "$work/log"; exit 1; }
  case $measured in
    *" $actions actions, 0 faults"*) echo "$name: $measured" ;;
    *) echo "$name, $actions actions expected: $measured"; exit 1 ;;
  esac
  if grep "CONSOLE" "$work/log"; then exit 1; fi
}
page 1f1b 64 -k 1f1b -p 4 -m 8
page split 96 -k zb_h1 -p 4 -m 8 --activation 10 --kept 4 -c 0.2
page amdp 384 -k amdp -p 8 -m 24
cells=$("$sim" convert -k dualpipe -p 4 -m 8 --to compute | tr ',;' '\n\n' | grep -c .)
page dualpipe "$cells" -k dualpipe -p 4 -m 8
page joined 112 --component vision:0-1:llm:defers --component audio:2:llm --component llm:3-5 -m 8 --links ports --bytes 1 --time-per-byte 0.2
page large 4096 -k 1f1b -p 64 -m 32
