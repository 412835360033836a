"""The page of a loop: a frame that asks its server for what there is to show, and shows it in place every few seconds.

The frame is the same for every loop and every moment. What it shows is text, put there as text; a link leads to a plan
of the same server and nowhere else. Its policy names its one script and style by their digests, and lets it ask its own
server alone. `assets` has them (`loop.css`, `loop.js`).
"""

from base64 import b64encode
from hashlib import sha256

import msgspec

from replan.reconciling.status import LoopStatus
from replan.reporting.loop.loop_view import view_of
from replan.reporting.page import asset, page, script_of, style_of

VIEW_PATH = "view.json"
"""Where the page asks, beside itself."""
_BODY = """<p class="soft">replan reconcile</p><h1 id="cluster"></h1>
<p id="lost" class="bad" role="alert" hidden></p>
<main id="now" hidden>
<p class="verdict"><span id="state" class="badge"></span> <span id="since" class="soft"></span></p>
<p id="text"></p>
<ul id="reasons"></ul>
<div id="blocks"></div>
</main>
<p class="soft screen">Read only; refreshed every five seconds. <a href="status.json">status.json</a>
<a href="metrics">metrics</a></p>
<noscript><p>What a loop does is shown by a script; <code>replan status</code> says the same in a terminal.</p>
</noscript>"""


def render_loop_page() -> str:
    """The frame; ends with a newline."""
    style, script = asset("loop.css"), asset("loop.js")
    return page("replan reconcile", [_BODY], style=style, script=script, policy=policy())


def policy() -> str:
    """What a browser lets the page do, for its header and its own head."""
    style, script = _digest(style_of(asset("loop.css"))), _digest(script_of(asset("loop.js")))
    return (
        f"default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def render_view(status: LoopStatus, now: float, plans: frozenset[str]) -> bytes:
    """What the page shows of a status, as JSON."""
    return msgspec.json.encode(view_of(status, now, plans))
