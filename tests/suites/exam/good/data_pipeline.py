import datetime
import decimal
import itertools
import json
import time


class TransientError(Exception):
    pass


def _no_constant(text):
    raise ValueError(text)


def parse(line):
    try:
        raw = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError("json") from None
    if not isinstance(raw, dict):
        raise ValueError("json")
    identifier = raw.get("id")
    if not isinstance(identifier, str) or not 0 < len(identifier.strip()) <= 40:
        raise ValueError("id")
    when = raw.get("at")
    try:
        moment = datetime.datetime.fromisoformat(when)
        offset = moment.utcoffset()
        if offset is None:
            raise ValueError
        moment = (moment - offset).replace(tzinfo=None, microsecond=0)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("at") from None
    amount = raw.get("amount")
    if isinstance(amount, str):
        digits = amount.removeprefix("-")
        whole, point, fraction = digits.partition(".")
        parts = [whole, fraction] if point else [whole]
        if not all(part.isascii() and part.isdigit() for part in parts):
            raise ValueError("amount")
    elif type(amount) is not int:
        raise ValueError("amount")
    with decimal.localcontext() as context:
        context.prec = 5000
        value = decimal.Decimal(amount)
        if abs(value) > 10**12:
            raise ValueError("amount")
        cents = int((value * 100).to_integral_value(rounding=decimal.ROUND_HALF_EVEN))
    currency = raw.get("currency")
    if not isinstance(currency, str) or len(currency) != 3 or not (currency.isascii() and currency.isalpha()):
        raise ValueError("currency")
    return {
        "id": identifier.strip(),
        "at": moment.isoformat() + "Z",
        "amount": cents,
        "currency": currency.upper(),
    }


def clean(lines, reject):
    number = 0
    for line in lines:
        number += 1
        if line.strip() == "":
            continue
        try:
            made = parse(line)
        except ValueError as error:
            word = error.args[0]
        else:
            yield made
            continue
        reject(number, word)


def deduplicate(records, window):
    latest = {}
    for record in records:
        seen = latest.pop(record["id"], None)
        latest[record["id"]] = True
        if len(latest) > window:
            del latest[next(iter(latest))]
        if seen is None:
            yield record


def deliver(records, sink, *, size, attempts=4, sleep=time.sleep):
    told = {"delivered": 0, "batches": 0, "retries": 0}

    def send(batch):
        for attempt in itertools.count(1):
            try:
                sink(batch[:])
                break
            except TransientError:
                if attempt == attempts:
                    raise
            sleep(min(0.5 * 2 ** (attempt - 1), 30))
            told["retries"] += 1
        told["delivered"] += len(batch)
        told["batches"] += 1

    batch = []
    stream = iter(records)
    while True:
        try:
            batch.append(next(stream))
        except StopIteration:
            break
        except BaseException:
            if batch:
                send(batch)
            raise
        if len(batch) == size:
            send(batch)
            batch = []
    if batch:
        send(batch)
    return told


def run(lines, sink, reject, *, size=100, window=10000, attempts=4, sleep=time.sleep):
    counts = {"rejected": 0, "good": 0}

    def rejecting(number, word):
        counts["rejected"] += 1
        reject(number, word)

    def counting():
        for record in clean(lines, rejecting):
            counts["good"] += 1
            yield record

    told = deliver(deduplicate(counting(), window), sink, size=size, attempts=attempts, sleep=sleep)
    told["rejected"] = counts["rejected"]
    told["duplicates"] = counts["good"] - told["delivered"]
    return told
