"""Prints a JSON document of about 100 KB, the same every time: a page of records as a service would send them."""

import json
import random

source = random.Random(20)
words = "amber birch cedar delta ember fjord grove heath inlet juniper knoll larch meadow north oak pine quill reed".split()


def text(count):
    return " ".join(source.choice(words) for _ in range(count))


def record(number):
    return {
        "id": number,
        "guid": f"{source.getrandbits(128):032x}",
        "name": text(2).title(),
        "email": f"{source.choice(words)}.{number}@example.org",
        "active": source.random() < 0.5,
        "balance": round(source.uniform(-1000, 10000), 2),
        "location": {"latitude": round(source.uniform(-90, 90), 6), "longitude": round(source.uniform(-180, 180), 6)},
        "tags": [source.choice(words) for _ in range(5)],
        "about": text(18) + ' – "né" \\ ' + text(3),
        "parent": source.choice([None, source.randrange(1000)]),
    }


print(json.dumps({"page": 1, "total": 230, "items": [record(number) for number in range(230)]}, ensure_ascii=False))
