"""Labeling configs, and questions as data of tasks."""

from __future__ import annotations

import base64
import json
import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from quorate.labelstudio.common import Json, SetupError


@dataclass
class Form:
    """The fields that a labeling config shows, and the choices that it offers."""

    config: str
    control: str  # name of the Choices
    shown: str  # name of the object that they belong to
    choices: list[str]
    variables: set[str]  # keys of a task's data

    @classmethod
    def read(cls, config: str) -> Form:
        """Raises SetupError if it does not ask for one of several choices."""
        try:
            root = ElementTree.fromstring(config)
        except ElementTree.ParseError as error:
            raise SetupError(f"its labeling config is no XML: {error}") from None
        controls = list(root.iter("Choices"))
        if len(controls) != 1:
            raise SetupError(f"its labeling config has {len(controls)} Choices; expected one")
        control = controls[0]
        if control.get("choice", "single") not in ("single", "single-radio"):
            raise SetupError(f"its Choices have choice={control.get('choice')!r}; expected choice=\"single\"")
        others = [tag for tag in root.iter() if tag.get("toName") and tag is not control and tag.get("required") == "true"]
        if others:
            raise SetupError(f"its {others[0].tag} is required, but Quorate asks only for Choices; expected no such tag")
        values = [choice.get("alias") or choice.get("value") or "" for choice in control.iter("Choice")]
        shows = [value for tag in root.iter() if tag.tag != "Choice" for value in tag.attrib.values()]
        variables = {name for value in shows for name in re.findall(r"^\$(\w+)", value)}
        return cls(config, control.get("name", ""), control.get("toName", "").split(",")[0], values, variables)

    @classmethod
    def make(cls, question: Mapping[str, Any]) -> Form:
        """For the fields and choices of a question: texts and images each as they are, the other columns in a table."""
        tags = [f"<Header value={quoteattr(_literal(question['prompt']))}/>", '<Header value="$task" size="6"/>']
        shown = []
        single = sum(one["kind"] in ("text", "image") for one in question["fields"]) < 2
        for one in question["fields"]:
            if one["kind"] not in ("text", "image"):
                continue
            name = _key(one["name"])
            shown.append(name)
            if not single:
                tags.append(f"<Header value={quoteattr(_literal(one['name']))} size=\"5\"/>")
            tags.append(f"<{one['kind'].capitalize()} name={quoteattr(name)} value={quoteattr('$' + name)}/>")
        if any(one["kind"] not in ("text", "image") for one in question["fields"]) or not shown:
            shown.append("columns")
            tags.append('<Table name="columns" value="$columns"/>')
        choices = "".join(f"<Choice value={quoteattr(choice)}/>" for choice in question["choices"])
        tags.append(
            f'<Choices name="label" toName={quoteattr(shown[0])} choice="single" required="true" showInline="true">'
            f"{choices}</Choices>"
        )
        return cls.read("<View>" + "".join(tags) + "</View>")

    def check(self, question: Mapping[str, Any]) -> None:
        """Raises SetupError if the question cannot be asked with this config."""
        expected = list(question["choices"])
        if sorted(self.choices) != sorted(expected):
            raise SetupError(f"its choices are {', '.join(self.choices)}; expected {', '.join(expected)}")
        known, shown = set(_data(question)), self.variables - {"task"}
        if shown and not shown & known:
            raise SetupError(
                f"its labeling config shows {', '.join('$' + name for name in sorted(shown))}; "
                f"expected some of {', '.join('$' + name for name in sorted(known))}"
            )

    def data(self, question: Mapping[str, Any]) -> Json:
        """A task's data; fields that the config shows and the example lacks are empty."""
        return dict.fromkeys(self.variables - {"columns"}, "") | _data(question)

    def result(self, label: str, score: float) -> list[Json]:
        """The result of an annotation or a prediction with this label."""
        value = {"choices": [label]}
        return [{"from_name": self.control, "to_name": self.shown, "type": "choices", "value": value, "score": score}]

    def label(self, annotation: Mapping[str, Any]) -> str | None:
        """The choice of an annotation; None if it has none."""
        for item in annotation.get("result") or []:
            if item.get("from_name") == self.control and item.get("type") == "choices":
                chosen = item.get("value", {}).get("choices") or []
                return str(chosen[0]) if chosen else None
        return None


def _key(name: str) -> str:
    """A field's name as Label Studio's configs can refer to it."""
    key = re.sub(r"\W", "_", name, flags=re.ASCII)
    return key + "_" if key in ("task", "columns") else key


def _literal(text: str) -> str:
    """Text that Label Studio shows as it is: a value that begins with $ would be a variable."""
    return " " + text if text.startswith("$") else text


def _data(question: Mapping[str, Any]) -> Json:
    table: Json = {}
    data: Json = {"task": question["task"], "columns": table}
    for one in question["fields"]:
        value: Any = one["value"]
        if one["kind"] in ("number", "count"):
            try:
                value = json.loads(value)
            except ValueError:
                pass
        elif one["kind"] == "image":
            value = image(value)
        data[_key(one["name"])] = value
        if one["kind"] not in ("text", "image"):
            table[one["name"]] = one["value"]
    return data


def image(value: str) -> str:
    """An image as a browser shows it: grey values, as "2,1:0 255", become a PNG file."""
    found = re.fullmatch(r"(\d+),(\d+):([\d ]*)", value)
    if found is None:
        return value
    width, height, grey = int(found[1]), int(found[2]), [min(int(v), 255) for v in found[3].split()]
    if not width * height or len(grey) != width * height:
        return value
    rows = b"".join(b"\0" + bytes(grey[y * width : (y + 1) * width]) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for name, part in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
        png += struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part))
    return "data:image/png;base64," + base64.b64encode(png).decode()
