# The scripts of the site, from their npm packages, so that a page loads nothing from elsewhere: what draws diagrams, and
# what lets the search work in pages that are opened from a folder.
# Usage: site_scripts.sh FOLDER. Another version: renew it and its `npm view PACKAGE@VERSION dist.integrity`.
set -eu
folder=$1
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

script() { # PACKAGE VERSION INTEGRITY FILE NAME: put the package's FILE into the folder, as NAME
  npm pack --silent --pack-destination "$made" "$1@$2" >/dev/null
  found=$(openssl dgst -sha512 -binary "$made/$1-$2.tgz" | openssl base64 -A)
  [ "$found" = "$3" ] || { echo "$1 $2 is not what it was: sha512-$found" >&2; exit 1; }
  tar -xzf "$made/$1-$2.tgz" -C "$made" "package/$4"
  cat "$made/package/$4" >"$made/$5"
}

script mermaid 11.17.2 V6K3C8EBdEsPFZXSKMJe6ppQOENxuHARr9GvHX4hh47lAbhMRD9qf4oEK7LoaRQxULMa80/qt5gHO73aCleBBg== \
  dist/mermaid.min.js mermaid.min.js
script iframe-worker 1.0.4 roeaaI+Lg1LJNfgpCjoRe/+WzEjy9+Z08LoEvu85MCPbBjwm+qXz8Ag5U05lHa6V1CysZyGzE0SOkAtSUA5q7Q== \
  shim/index.js iframe-worker.js
mkdir -p "$folder"
cp "$made/mermaid.min.js" "$made/iframe-worker.js" "$folder/"
touch "$folder"
