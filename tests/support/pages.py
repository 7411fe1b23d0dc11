"""A person's browser at a page that asks for a key."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx2


async def fill(url: str, key: str) -> str:
    """Open the page, enter ``key``, send the form as a browser does; returns what the page said before and after."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        asked = (await browser.get(url)).text
        token = re.search(r'name="token" value="([^"]+)"', asked)
        assert token is not None, asked
        where = urlsplit(url)
        headers = {"Origin": f"{where.scheme}://{where.netloc}"}
        answer = await browser.post(url, data={"token": token[1], "key": key}, headers=headers)
    return asked + answer.text
