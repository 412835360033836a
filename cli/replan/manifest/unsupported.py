"""What the placement file knows and this release does not do yet.

It is refused rather than skipped: whoever writes a drain expects a drain.
"""

from replan.manifest.yaml_text.problems import KeyPath, Problems
from replan.manifest.yaml_text.sources import Source
from replan.manifest.yaml_text.values import YamlMapping, key_place_of

_WHOLE: dict[tuple[str, ...], str] = {
    ("blacklists", "logDirs"): "draining log directories",
}


def unsupported_keys() -> dict[tuple[str, ...], str]:
    """Every key that is refused, as a path, with what it is for."""
    return _WHOLE


def note_unsupported(root: YamlMapping, source: Source, problems: Problems) -> frozenset[KeyPath]:
    """Note every key that is not supported yet; returns their paths."""
    found = [path for path in _WHOLE if _holds(root, path)]
    for path in found:
        text = f"not supported yet ({_WHOLE[path]}); remove this key"
        problems.add(source.where(key_place_of(root, path)), path, text)
    return frozenset(found)


def _holds(root: YamlMapping, path: KeyPath) -> bool:
    here: object = root
    for key in path:
        if not isinstance(here, YamlMapping) or key not in here:
            return False
        here = here[str(key)]
    return True
