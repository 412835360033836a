"""docs/pictures/*.svg: what a terminal shows, drawn from what the commands print."""

import io
import re
import shutil
from pathlib import Path

import pytest
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text
from tests.commandline import checked
from tests.docs.pages import TOP, check_page

DEMO = TOP / "examples" / "demo"
WIDTH = 118
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Without fonts that a browser would load from elsewhere."""
PICTURES = {
    "plan": ("plan", "--simulated", "cluster.json"),
    "drift": ("drift", "--simulated", "cluster.json"),
}
"""What is typed for each picture; what leads to the embedded cluster is not shown."""


def drawn(name: str, words: tuple[str, ...], printed: str) -> str:
    """A picture of a terminal in which a command was typed."""
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    shown = " ".join(f"'{word}'" if " " in word else word for word in words)
    typed = shown.replace(" --simulated cluster.json", "")
    console.print(f"$ replan {typed}", highlight=False, markup=False)
    console.print(Text.from_ansi(printed), end="")
    svg = console.export_svg(title=f"replan {words[0]}", unique_id=name, code_format=FORMAT)
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


@pytest.mark.command
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_a_terminal_is_what_the_command_prints(name: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DEMO, tmp_path / "demo"))
    words = (*PICTURES[name], "--color", "always")
    done = checked(*words, folder=folder, wanted=2, COLUMNS=str(WIDTH))
    svg = drawn(name, PICTURES[name], done.stdout)
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "").replace(
        "https://www.textualize.io", ""
    )
    check_page(f"pictures/{name}.svg", svg)
