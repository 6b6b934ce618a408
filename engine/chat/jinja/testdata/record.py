"""Records cases.json: what Python's jinja2 renders, or raises, for the templates of this folder.

Run with jinja2 3.1 installed: python3 record.py. The environment is set up as transformers does it.
"""

import datetime
import json
import pathlib

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return CallBlock(self.call_method("pass_on"), [], [], body).set_lineno(line)

    def pass_on(self, caller):
        return caller()


class Raised(Exception):
    pass


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise Raised(message)

    now = datetime.datetime(2026, 3, 7, 9, 5, 4)
    env.filters["tojson"] = tojson
    env.globals.update(raise_exception=raise_exception, strftime_now=now.strftime)
    return env


system = {"role": "system", "content": "You answer in one line."}
ask = {"role": "user", "content": "  Name a river.\n"}
answer = {"role": "assistant", "content": "The Loire."}
thought = {"role": "assistant", "content": "The Loire.", "reasoning_content": "France has\nmany."}
inline = {"role": "assistant", "content": "<think>\nIceland?\n</think>\n\nThe Þjórsá \"glacial\"."}
again = {"role": "user", "content": "Another, 日本の川?"}
call = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "abcdefghi", "type": "function", "function": {"name": "river", "arguments": {"country": "España", "length": 3, "deep": {"z": [1.0, None], "a": True}}}},
    {"id": "abcdefghj", "type": "function", "function": {"name": "river", "arguments": {}}}]}
text_call = {"role": "assistant", "content": "Looking.", "tool_calls": [
    {"id": "abcdefghi", "type": "function", "function": {"name": "river", "arguments": "{\"country\": \"Perú\"}"}}]}
result = {"role": "tool", "name": "river", "tool_call_id": "abcdefghi", "content": "{\"name\": \"Ebro\"}"}
parts = {"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": "<river>"}]}
tools = [
    {"type": "function", "function": {"name": "river", "description": "Finds a river.\nAnywhere.", "parameters": {
        "type": "object", "required": ["country"], "properties": {
            "country": {"type": "string", "description": "where"},
            "length": {"type": ["integer", "null"], "maximum": 18446744073709551615},
            "kind": {"enum": ["slow", "fast"]},
            "stops": {"type": "array", "items": {"type": "object", "properties": {"at": {"type": "number"}, "open": {"type": "boolean"}}}}}}}},
    {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object", "properties": {}}}},
]
chats = {
    "plain": {"messages": [system, ask, answer, again]},
    "no_system": {"messages": [ask]},
    "closed": {"messages": [ask, answer], "add_generation_prompt": False},
    "empty": {"messages": []},
    "two_questions": {"messages": [ask, again]},
    "thought": {"messages": [ask, thought, again, inline]},
    "thinking_off": {"messages": [system, ask, thought], "enable_thinking": False},
    "tools": {"messages": [system, ask], "tools": tools},
    "calls": {"messages": [ask, call, result, result, again], "tools": tools},
    "text_call": {"messages": [ask, text_call, result], "tools": tools},
    "parts": {"messages": [system, parts]},
    "no_content": {"messages": [{"role": "user"}]},
    "null_content": {"messages": [ask, {"role": "assistant", "content": None}, again]},
}
for c in chats.values():
    c.setdefault("add_generation_prompt", True)
    c.update(bos_token="<s>", eos_token="</s>")

values = [None, True, False, 0, -1, 42, 1.0, 0.5, 1e16, 1e-05, 123456789.125, 18446744073709551615, "", "a", "it's", 'say "hi"',
          "tab\tline\nback\\slash", "\u00e9\u4e2d\U0001f600\u200b\x7f\x01", [], [1, "a", None], {}, {"k": {"n": [1.5]}, "e": ""}]
people = [{"name": "Ada", "age": 36}, {"name": "bob", "age": 25}, {"name": "Cyd", "age": 36}]
tree = [{"name": "root", "children": [{"name": "left"}, {"name": "right", "children": [{"name": "leaf"}]}]}, {"name": "second"}]

contexts = {
    "chatml": chats, "thinker": chats, "json_tools": chats, "xml_tools": chats, "turns": chats, "typescript": chats,
    "whitespace": {"plain": {}}, "newlines": {"plain": {}},
    "macros": {"plain": {"tree": tree}}, "values": {"plain": {"values": values, "people": people}},
}

if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    cases = []
    for name, group in contexts.items():
        with open(here / f"{name}.jinja", newline="", encoding="utf-8") as f:
            source = f.read()
        for case, context in group.items():
            record = {"template": f"{name}.jinja", "case": case, "context": context}
            try:
                # A round trip keeps templates from changing what the next one gets.
                record["expected"] = environment().from_string(source).render(**json.loads(json.dumps(context)))
            except Raised as e:
                record["expected_error"] = {"kind": "raise_exception", "message": str(e)}
            except Exception as e:
                record["expected_error"] = {"kind": type(e).__name__, "message": str(e)}
            cases.append(record)
    with open(here / "cases.json", "w", encoding="utf-8") as f:
        json.dump(cases, f, ensure_ascii=False, indent=1)
        f.write("\n")
    print(len(cases), "cases with jinja2", jinja2.__version__)
