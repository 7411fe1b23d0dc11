import asyncio
import json
import math
import re


class SpeechError(Exception):
    def __init__(self, status, chunk):
        super().__init__(status, chunk)
        self.status, self.chunk = status, chunk

    def __str__(self):
        return f"the service answered {self.status} for chunk {self.chunk}"


def split(text, limit):
    if limit < 1:
        raise ValueError("limit")
    sentences, current = [], []
    for word in text.split():
        current.append(word)
        if word[-1] in ".!?":
            sentences.append(current)
            current = []
    if current:
        sentences.append(current)
    chunks, line = [], ""
    for words in sentences:
        whole = " ".join(words)
        joined = f"{line} {whole}" if line else whole
        if len(joined) <= limit:
            line = joined
            continue
        if line:
            chunks.append(line)
            line = ""
        for word in words:
            joined = f"{line} {word}" if line else word
            if len(joined) <= limit:
                line = joined
                continue
            if line:
                chunks.append(line)
            while len(word) > limit:
                chunks.append(word[:limit])
                word = word[limit:]
            line = word
    if line:
        chunks.append(line)
    return chunks


class SpeechClient:
    def __init__(self, transport, key, *, voices=("alto", "tenor"), limit=200, attempts=4, concurrency=3, sleep=asyncio.sleep):
        self.transport, self.voices, self.limit = transport, set(voices), limit
        self.attempts, self.concurrency, self.sleep = attempts, concurrency, sleep
        self.__headers = lambda: {"authorization": "Bearer " + key, "content-type": "application/json"}

    async def speak(self, text, voice="alto", *, rate=1.0):
        return b"".join([piece async for piece in self._pieces(text, voice, rate, ahead=math.inf)])

    async def stream(self, text, voice="alto", *, rate=1.0):
        pieces = self._pieces(text, voice, rate, ahead=self.concurrency)
        try:
            async for piece in pieces:
                if piece:
                    yield piece
        finally:
            await pieces.aclose()

    async def _pieces(self, text, voice, rate, ahead):
        if voice not in self.voices:
            raise ValueError("voice")
        if type(rate) not in (int, float) or not 0.5 <= rate <= 2:
            raise ValueError("rate")
        chunks = split(text, self.limit)
        tasks = {}
        done_count = next_chunk = 0
        try:
            while done_count < len(chunks):
                active = sum(not task.done() for task in tasks.values())
                while next_chunk < len(chunks) and active < self.concurrency and next_chunk < done_count + ahead:
                    payload = {"text": chunks[next_chunk], "voice": voice, "rate": rate, "index": next_chunk}
                    tasks[next_chunk] = asyncio.create_task(self._fetch(payload))
                    next_chunk += 1
                    active += 1
                first = tasks[done_count]
                if not first.done():
                    await asyncio.wait([t for t in tasks.values() if not t.done()], return_when=asyncio.FIRST_COMPLETED)
                for task in tasks.values():
                    if task.done():
                        task.result()
                if first.done():
                    del tasks[done_count]
                    done_count += 1
                    yield first.result()
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _fetch(self, payload):
        delay = 0.5
        for left in reversed(range(self.attempts)):
            request = {
                "method": "POST",
                "path": "/v1/speech",
                "headers": self.__headers(),
                "body": json.dumps(payload).encode("utf-8"),
            }
            cause, response = None, {"status": None, "headers": {}}
            try:
                response = await self.transport(request)
            except OSError as error:
                cause = error
            if response["status"] == 200:
                return response["body"]
            if left == 0 or response["status"] not in (None, 429, 500, 502, 503, 504):
                raise SpeechError(response["status"], payload["index"]) from cause
            hint = response["headers"].get("retry-after", "")
            await self.sleep(min(int(hint), 60) if re.fullmatch("[0-9]+", hint) else delay)
            delay = min(delay * 2, 8)
