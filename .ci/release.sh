#!/usr/bin/env bash
# Makes a release of the version that is given, as docs/releasing.md says; pushes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: release.sh VERSION}
python=.venv/bin/python
fail() { echo "release: $*" >&2; exit 1; }

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "$version is no version; write e.g. 0.2.0"
[ -z "$(git status --porcelain --untracked-files=no)" ] || fail "commit your changes first"
! git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null || fail "v$version is tagged already"

"$python" - "$version" "$(date -u +%Y-%m-%d)" <<'PYTHON'
import re, sys
from pathlib import Path

version, date = sys.argv[1:]
changelog = Path("CHANGELOG.md")
text = changelog.read_text()
head, found, rest = text.partition("## [Unreleased]\n")
section, following, older = rest.partition("\n## [")
if not found or not section.strip():
    sys.exit("release: nothing stands under [Unreleased] in CHANGELOG.md")
changelog.write_text(f"{head}{found}\n## [{version}] - {date}\n{section}{following}{older}")
for path, pattern in (("pyproject.toml", r'(?m)^version = ".*"$'), ("cli/replan/__init__.py", r'(?m)^__version__ = ".*"$')):
    text, count = re.subn(pattern, lambda m: f'{m[0].partition("=")[0]}= "{version}"', Path(path).read_text(), count=1)
    if count != 1:
        sys.exit(f"release: no version in {path}")
    Path(path).write_text(text)
PYTHON

rm -rf dist site
"$python" -m build --no-isolation --outdir dist . >/dev/null      # the sdist, and the wheel from the sdist
ls dist/replan-"$version"-py3-none-any.whl dist/replan-"$version".tar.gz >/dev/null
sh .ci/package.sh
NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet

git commit --quiet --all --message "Release $version"
git tag "v$version"
echo "released $version: look at it (git show), push it (git push origin HEAD v$version), publish dist/ and site/"
