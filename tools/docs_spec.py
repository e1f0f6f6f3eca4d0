"""The page of the spec reference, from the JSON schema that `fabric schema` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fabric.spec.schema import json_schema
from tools.docs_text import GENERATED, prose, table

_INTRO = """# Spec reference

Every key of `cluster.yaml`. `fabric schema` prints the same as JSON Schema, for an editor's YAML server. A default
that is a number somebody measured or chose names its source and how sure it is. Unknown keys are refused.

"""
_LIMITS = {
    "minimum": "at least {}{unit}",
    "exclusiveMinimum": "more than {}{unit}",
    "maximum": "at most {}{unit}",
    "exclusiveMaximum": "less than {}{unit}",
    "multipleOf": "a multiple of {}{unit}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "minProperties": "at least {} entries",
    "pattern": "pattern `{}`",
}


def spec_page() -> str:
    """The whole page: the root first, then each section where it is first used, depth first."""
    schema = json_schema()
    definitions: dict[str, Any] = schema.get("$defs", {})
    parts = [GENERATED, _INTRO, _section("cluster.yaml", schema)]
    parts += [_section(name, definitions[name]) for name in _in_order_of_use(schema, definitions)]
    return "".join(parts).rstrip("\n") + "\n"


def _section(name: str, model: dict[str, Any]) -> str:
    text = f"## {name}\n\n{prose(model.get('description', ''))}\n\n"
    if "properties" not in model:
        return text + f"One of: {_kind(model)}.\n\n"
    required = set(model.get("required", ()))
    rows = [
        (f"`{key}`", _kind(field), _default(key, field, required), _about(field))
        for key, field in model["properties"].items()
    ]
    return text + table(("key", "type", "default", "what it is"), rows)


def _in_order_of_use(schema: dict[str, Any], definitions: dict[str, Any]) -> list[str]:
    order: list[str] = []
    waiting = list(_references(schema.get("properties", {})))
    while waiting:
        name = waiting.pop(0)
        if name not in order:
            order.append(name)
            waiting = [*_references(definitions[name]), *waiting]
    return order


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield _name(node["$ref"])
        for key, value in node.items():
            if key != "discriminator":
                yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _name(reference: str) -> str:
    return reference.rsplit("/", 1)[-1]


def _kind(field: dict[str, Any]) -> str:
    """The type of a field in a few words, with links to the sections it refers to."""
    if "$ref" in field:
        name = _name(field["$ref"])
        return f"[{name}](#{name.lower()})"
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    options = field.get("anyOf") or field.get("oneOf") or field.get("allOf")
    if options:
        return " or ".join(dict.fromkeys(_kind(option) for option in options))
    return _container(field)


def _container(field: dict[str, Any]) -> str:
    kind = field.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"list of {_kind(field.get('items', {}))}"
    if kind == "object":
        values = field.get("additionalProperties")
        return f"map of name to {_kind(values)}" if isinstance(values, dict) else "map"
    return str(kind)


def _default(key: str, field: dict[str, Any], required: set[str]) -> str:
    if key in required:
        return "**required**"
    if "default" not in field:
        return ""
    unit = f" {field['unit']}" if "unit" in field and field["default"] is not None else ""
    return f"`{json.dumps(field['default'], ensure_ascii=False)}`{unit}"


def _about(field: dict[str, Any]) -> str:
    parts = [str(field.get("description", ""))]
    if limits := dict.fromkeys(_limits(field)):
        parts.append(f"Limits: {', '.join(limits)}.")
    if "examples" in field:
        parts.append(
            "Example: " + ", ".join(f"`{json.dumps(value, ensure_ascii=False)}`" for value in field["examples"]) + "."
        )
    if "source" in field:
        parts.append(f"Source: {field['source']} ({field.get('status', 'status not given')}).")
    return " ".join(part for part in parts if part)


def _limits(field: dict[str, Any]) -> Iterator[str]:
    unit = f" {field['unit']}" if "unit" in field else ""
    for option in (field, *field.get("anyOf", ())):
        yield from (words.format(option[key], unit=unit) for key, words in _LIMITS.items() if key in option)
