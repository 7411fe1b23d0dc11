"""What the page says. Nothing on it runs, loads or can be framed; everything from outside is escaped."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from llmbench_mcp.domain.credential import Asked
from llmbench_mcp.domain.text import one_line

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto;padding:0 1rem}"
    "code{font-size:1.05em;word-break:break-all}input{font:inherit;width:100%;box-sizing:border-box;padding:.4rem}"
    "button{font:inherit;margin-top:1rem;padding:.4rem 1.2rem}.warn{border-left:4px solid #b00;padding-left:.8rem}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'"
    ),
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers send "Origin: null", which is refused
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def form(asked: Asked, token: str, problem: str | None = None) -> str:
    """The page that asks; ``token`` comes back with the form, ``problem`` says what was wrong with the last try."""
    whose = f"the endpoint <b>{_safe(asked.endpoint)}</b> at " if asked.endpoint else "the server at "
    notes = [
        f'<p class="warn">{_safe(problem)}</p>' if problem else "",
        "<p>A key of this name is stored already; the new one replaces it.</p>" if asked.replaces else "",
        '<p class="warn">Connections to this address are not encrypted: the key can be read on its way.</p>'
        if asked.in_clear
        else "",
    ]
    return _page(
        "Enter a key",
        f"<p>llmbench-mcp was asked to get the key of {whose}<code>{_safe(asked.origin)}</code>.</p>"
        f"{''.join(notes)}"
        '<form method="post" autocomplete="off">'
        f'<input type="hidden" name="token" value="{_safe(token)}">'
        f'<label>Key for <code>{_safe(asked.origin)}</code><br><input type="password" name="key" required '
        'minlength="8" maxlength="4096" autocomplete="off" autofocus></label>'
        "<button>Store the key</button></form>"
        f"<p>It is stored on this machine as <b>{_safe(asked.name)}</b>, sent to that address only, and shown to "
        "nobody, the agent included. If you do not expect this question, close the page.</p>",
    )


def thanks(asked: Asked) -> str:
    """The page after a key was stored."""
    return _page(
        "The key is stored",
        f"<p>The key <b>{_safe(asked.name)}</b> for <code>{_safe(asked.origin)}</code> is stored. "
        "You can close this page and tell the agent to go on.</p>",
    )


def farewell(problem: str) -> str:
    """The page when there is no further try."""
    return _page("No key was stored", f'<p class="warn">{_safe(problem)}</p><p>Ask the agent to ask again.</p>')


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style><h1>{title}</h1>{body}</html>'
    )


def _safe(text: str | None) -> str:
    return escape(one_line(text or "", 300))
