#!/bin/sh
# Builds the wheel, installs it into a fresh environment outside the checkout, and runs it there.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
python=$top/.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m build --wheel --no-isolation --outdir "$work/dist" "$top" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$python" -m venv "$work/venv"
# The dependencies are those that the lock installed; the package itself comes from the wheel alone.
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$work"/dist/*.whl
mkdir "$work/deps"
for entry in "$site"/*; do
  case $(basename "$entry") in
    replan*|_replan*|*.pth|__pycache__) ;;
    *) ln -s "$entry" "$work/deps/" ;;
  esac
done
cp -R "$top/examples/move" "$work/move"
cd "$work/move"
export PYTHONPATH="$work/deps"
"$work/venv/bin/replan" --version
"$work/venv/bin/python" -c 'import pathlib, replan; assert "venv" in pathlib.Path(replan.__file__).parts, replan.__file__'
code=0
"$work/venv/bin/replan" plan --snapshot cluster.json >"$work/plan.txt" || code=$?
test "$code" -eq 2 || { cat "$work/plan.txt"; echo "exit $code, wanted 2" >&2; exit 1; }
diff "$work/plan.txt" plan.txt
test -s "$work/venv/share/man/man1/replan-plan.1" || { echo "no man pages" >&2; exit 1; }
echo "the wheel works"
