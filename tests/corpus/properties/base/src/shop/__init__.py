"""A shop: a little of everything that a property can be about."""

import asyncio
import dataclasses
import enum
import json
import logging
import os
import pathlib
import threading
import typing
import warnings

RATES = {"book": 5, "food": 7, "wine": 20}
VERSION = "1.2"


class Kind(enum.Enum):
    BOOK = "book"
    FOOD = "food"


class Point(typing.NamedTuple):
    x: int
    y: int


class PriceError(ValueError):
    pass


@dataclasses.dataclass
class Line:
    name: str
    count: int = 1


class Cart:
    def __init__(self):
        self.items = []
        self.hooks = []

    def add(self, name, count=1):
        self.items.append((name, count))
        for hook in self.hooks:
            hook(name)
        return self

    def on(self, hook):
        self.hooks.append(hook)

    @property
    def total(self):
        return sum(price(count) for _, count in self.items)

    def save(self, path):
        pathlib.Path(path).write_text(json.dumps(self.items))


def price(n):
    if n < 0:
        raise PriceError(n)
    return n * 2


def share(part, whole):
    return part / whole


def slug(text):
    return "-".join(text.lower().split())


def each(items, callback):
    for item in items:
        callback(item)


def show(n):
    print(f"price: {price(n)}")


def warn(text):
    warnings.warn(text, UserWarning, stacklevel=2)


def log(text):
    logging.getLogger("shop").warning("%s", text)


def countdown(n):
    while n:
        yield n
        n -= 1


async def fetch(n):
    await asyncio.sleep(0)
    return price(n)


def later(n, into):
    worker = threading.Thread(target=lambda: into.append(price(n)))
    worker.start()
    worker.join()


def currency():
    return os.environ.get("SHOP_CURRENCY", "EUR")


def due(now, days=14):
    import datetime

    return now + datetime.timedelta(days=days)


def tags(text):
    return set(text.split())
