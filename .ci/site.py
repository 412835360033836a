"""What the site is made of beside docs/: the pages at the top of the repository, the site's scripts, links.

A hook of mkdocs. README.md, CHANGELOG.md, CONTRIBUTING.md and benchmarks/README.md become pages; a link to any other
file leads to the repository, and a link to a file that is not there ends the build.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

TOP = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""Where they are in the repository, and what they are called on the site."""
SCRIPTS = (".cache/site/mermaid.min.js", ".cache/site/iframe-worker.js")
"""What draws the diagrams, and what searches in pages of a folder; `.ci/site_scripts.sh` puts them there.

Without them the theme would load its own from elsewhere.
"""
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(\))")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from the top of the repository."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, content=(TOP / source).read_text()))
    for script in map(TOP.joinpath, SCRIPTS):
        if not script.is_file():
            raise PluginError(f"{script.name} is missing: run `make docs`, which puts it there")
        files.append(File.generated(config, f"assets/{script.name}", abs_src_path=str(script)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Let each link lead to a page of the site, or to a file of the repository."""
    names = {name: source for source, name in PAGES.items()}
    source = names.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def target(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), found[2]))
        anchor = found[3] or ""
        if path in PAGES:
            return f"{found[1]}{PAGES[path]}{anchor}{found[4]}"
        if path.startswith("docs/") and path.endswith(".md"):
            return f"{found[1]}{path.removeprefix('docs/')}{anchor}{found[4]}"
        if path.startswith("docs/pictures/") and (TOP / path).is_file():
            return f"{found[1]}{path.removeprefix('docs/')}{found[4]}"
        if not (TOP / path).exists():
            raise PluginError(f"{source}: links to {path}, which is not there")
        kind = "tree" if (TOP / path).is_dir() else "blob"
        return f"{found[1]}{config.extra['source']}/{kind}/main/{path}{anchor}{found[4]}"

    return LINK.sub(target, markdown)
