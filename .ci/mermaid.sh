# The script that draws the diagrams of the site, from its npm package, so that a page loads nothing from elsewhere.
# Usage: mermaid.sh FILE. Another version: renew `version`, and `integrity` from `npm view mermaid@VERSION dist.integrity`.
set -eu
version=11.17.2
integrity=V6K3C8EBdEsPFZXSKMJe6ppQOENxuHARr9GvHX4hh47lAbhMRD9qf4oEK7LoaRQxULMa80/qt5gHO73aCleBBg==
file=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm pack --silent --pack-destination "$folder" "mermaid@$version" >/dev/null
found=$(openssl dgst -sha512 -binary "$folder/mermaid-$version.tgz" | openssl base64 -A)
[ "$found" = "$integrity" ] || { echo "mermaid $version is not what it was: sha512-$found" >&2; exit 1; }
mkdir -p "$(dirname "$file")"
tar -xzf "$folder/mermaid-$version.tgz" -C "$folder" package/dist/mermaid.min.js
cat "$folder/package/dist/mermaid.min.js" >"$file"
