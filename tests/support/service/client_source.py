"""The client's operations and documents as Python, made of the OpenAPI document."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Document = Mapping[str, Any]
PACKAGE = Path(__file__).parents[3] / "client" / "lutra_client"
LINES = "application/jsonl"
PAGED = " The others follow when they are looked at."
KEY, PREFER = "idempotency-key", "prefer"
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
MADE = "Made of service/openapi.json by `python -m tests.contract.test_client`: change that, not this."
SCHEMAS = f'''"""The requests and answers of the service; a moment is a datetime. {MADE}"""

# ruff: noqa: E501

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict
'''
OPERATIONS = f'''"""Each operation of the REST interface. {MADE}"""

# ruff: noqa: E501

from __future__ import annotations

import builtins
from datetime import date, datetime
from typing import Any, Literal, Unpack

from lutra_client import schemas
from lutra_client.binding import D, Group, call, pages, rows
from lutra_client.requests import Request, given, key, path, prefer
'''


def sources(document: Document) -> dict[Path, str]:
    """File → what it holds."""
    return {
        PACKAGE / "schemas.py": _formatted(SCHEMAS + "".join(_schemas(document))),
        PACKAGE / "operations.py": _formatted(OPERATIONS + "".join(_operations(document))),
    }


def _schemas(document: Document) -> Iterator[str]:
    answers = _answered(document)
    for name, schema in sorted(document["components"]["schemas"].items()):
        if not name.startswith("Page_"):
            sent = name not in answers
            fields, required = schema.get("properties", {}), schema.get("required", ())
            yield f"\n\nclass {name}(TypedDict):\n{_doc(schema['description'])}"
            yield "".join(_field(field, told, field in required, sent) for field, told in fields.items())


def _answered(document: Document) -> set[str]:
    """The names of what the service answers with, and of what is in it."""
    schemas = document["components"]["schemas"]
    told = [r for ms in document["paths"].values() for o in ms.values() for s, r in o["responses"].items() if s < "3"]
    found: set[str] = set()
    new = _named(told)
    while new:
        found |= new
        new = _named([schemas[name] for name in new]) - found
    return found


def _named(documents: Any) -> set[str]:
    return set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(documents)))


def _field(name: str, schema: Document, required: bool, sent: bool) -> str:
    """One that is only sent also takes a moment as a text."""
    kind = _type(schema)
    kind = kind.replace("datetime", "datetime | str") if sent else kind
    return f"    {name}: {kind if required else f'NotRequired[{kind}]'}\n{_doc(schema['description'])}"


def _operations(document: Document) -> Iterator[str]:
    """A class for each tag, and one that has all of them."""
    meanings = {tag["name"]: tag["description"] for tag in document["tags"]}
    made: dict[str, list[str]] = {tag: [] for tag in meanings}
    for template, methods in document["paths"].items():
        for method, operation in methods.items():
            made[operation["tags"][0]].append(_operation(document, template, method.upper(), operation))
    for tag, operations in made.items():
        yield f"\n\nclass {tag.capitalize()}(Group[D]):\n{_doc(meanings[tag])}{''.join(operations)}"
    yield f"\n\nclass Operations(Group[D]):\n{_doc('Every operation of the document, in its groups.')}"
    for tag, meaning in meanings.items():
        kind = tag.capitalize()
        yield f"\n    @property\n    def {tag}(self) -> {kind}[D]:\n{_doc(meaning, 8)}"
        yield f"        return {kind}(self.driver)\n"


def method_of(operation: Document) -> str:
    """What the client calls it in the group of its tag: its id without what the group says.

    `get_database` is `databases.get`, and a list of one database's or session's is `observations.of_session`.
    """
    (tag,) = operation["tags"]
    words = [w for w in operation["operationId"].split("_") if w not in (tag, tag.removesuffix("s"))]
    if len(words) == 2 and words[0] == "list" and words[1] in _ids(operation):
        words[0] = "of"
    return "_".join(words or [operation["operationId"]])


def _ids(operation: Document) -> list[str]:
    return [p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"]


def _operation(document: Document, template: str, method: str, operation: Document) -> str:
    told = operation.get("parameters", ())
    ids = _ids(operation)
    asked = [p for p in told if p["in"] == "query" and p["name"] not in ("after", "format")]
    headers = {p["name"].lower() for p in told if p["in"] == "header"}
    kind, answer = _answer(document, operation)
    body = _body(operation)
    sent = [f'"{method}"', f'path("{template}"' + "".join(f", {i}={i}" for i in ids) + ")"]
    sent += ["query=given(" + ", ".join(f"{p['name']}={p['name']}" for p in asked) + ")"] if asked else []
    sent += ["headers=key(idempotency_key)" if KEY in headers else ""]
    if PREFER in headers:
        sent[-1] = f"headers={'key(idempotency_key) | ' if KEY in headers else ''}prefer(wait_s)"
        sent += ["waits_s=wait_s or 0.0"]
    sent += ["body=body"] if body else []
    sent += ["once=True"] if KEY in headers else []
    sent += [] if answer == "str" else [f"answer={answer.removesuffix(' | None')}"]
    signature = ["self", *(f"{i}: str" for i in ids), *(["/"] if ids else [])]
    named = [f"{p['name']}: {_asked(p)}" for p in sorted(asked, key=lambda p: not p.get("required"))]
    named += ["wait_s: float | None = None"] if PREFER in headers else []
    named += ["idempotency_key: str | None = None"] if KEY in headers else []
    signature += ["*", *named] if named else []
    signature += [f"**body: Unpack[{body}]"] if body else []
    return (
        f"\n    @{kind}\n    def {method_of(operation)}({', '.join(signature)}) -> Request[{answer}]:\n"
        f"{_doc(_told(document, operation, told), 8)}        return Request({', '.join(s for s in sent if s)})\n"
    )


def _asked(parameter: Document) -> str:
    kind = _type(parameter["schema"])
    kind = kind.removesuffix(" | None").replace("list[", "builtins.list[")
    kind = "datetime | date | str" if kind == "datetime" else kind
    return kind if parameter.get("required") else f"{kind} | None = None"


def _told(document: Document, operation: Document, parameters: Any) -> str:
    named = [p for p in parameters if p["in"] == "query" and p["name"] not in ("after", "format")]
    lines = [f"{p['name']}: {p['description']}{PAGED if p['name'] == 'limit' else ''}" for p in named]
    if body := _body(operation):
        fields = document["components"]["schemas"][body.removeprefix("schemas.")]["properties"]
        lines += [f"{name}: {' '.join(told['description'].split())}" for name, told in fields.items()]
    return "\n\n".join([operation["description"], *(["\n".join(lines)] if lines else [])])


def _answer(document: Document, operation: Document) -> tuple[str, str]:
    """How the method is bound, and the type of its answer: an item's where it is a list, a line's where it streams."""
    good = {status: r for status, r in operation["responses"].items() if status.startswith("2")}
    content = next(r["content"] for r in good.values() if "content" in r)
    if LINES in content:
        return "rows", _type(content[LINES]["schema"], "schemas.")
    if "application/json" not in content:
        return "call", "str"
    kind = _type(content["application/json"]["schema"], "schemas.")
    page = document["components"]["schemas"].get(kind.removeprefix("schemas."), {})
    if kind.startswith("schemas.Page_"):
        return "pages", _type(page["properties"]["items"]["items"], "schemas.")
    return "call", f"{kind} | None" if any("content" not in r for r in good.values()) else kind


def _body(operation: Document) -> str | None:
    if "requestBody" not in operation:
        return None
    return _type(operation["requestBody"]["content"]["application/json"]["schema"], "schemas.")


def _type(schema: Document, module: str = "") -> str:
    if "$ref" in schema:
        return module + str(schema["$ref"]).rsplit("/", 1)[1]
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(s, module) for s in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        words = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(json.dumps(w) for w in words)}]"
    if schema.get("format") == "date-time":
        return "datetime"
    if schema.get("type") == "array":
        return f"list[{_type(schema.get('items', {}), module)}]"
    if schema.get("type") == "object":
        of = schema.get("additionalProperties") or next(iter(schema.get("patternProperties", {}).values()), {})
        return f"dict[str, {_type(of if isinstance(of, dict) else {}, module)}]"
    return PLAIN.get(schema.get("type", ""), "Any")


def _doc(text: str, indent: int = 4) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', "'''").strip()
    return textwrap.indent(f'"""{escaped}"""\n', " " * indent)


def _formatted(source: str) -> str:
    """Without imports that nothing needs, laid out as ruff does."""
    for asked in (("check", "--fix", "--quiet", "--select", "F401"), ("format", "--line-length", "120")):
        argv = [Path(sys.executable).parent / "ruff", *asked, "-"]
        source = subprocess.run(argv, input=source, capture_output=True, text=True, check=True).stdout
    return source


def write(document: Document) -> None:
    for file, source in sources(document).items():
        file.write_text(source)
