"""NAME.lua: which nodes are computed together, for a person to read, edit and give back.

It is data: a table of strings, numbers and tables, of which nothing runs. Each unit (a node of the model, or a part of one that has
several results) stands in one group.
"""

import difflib
import os
import re

from graph import ModelError, Names
from groups import Fusing, Group, ordered

HEAD = '''-- The groups of {name}: each is one kernel. Nodes are those of the model; what a group computes goes to memory once, where it ends.
-- Move a node to another group, split one or join two, and give the file back: halyard compile {file} --schedule {name}.lua
-- A group has one result, but for products that attention reads beside each other. `op` is the op of Halyard that computes it;
-- "graph" takes the general generator, of which `schedule` may name a Lua schedule of yours. `variant` is another schedule of the op, and
-- `set` has numbers for what its schedule leaves open, as set = {{ task = 1024 }}. `why` says why the group ends where it ends.
return model "{name}" {{
  graph = "{graph}", -- of the nodes that this file is about
  groups = {{
'''


NAME = re.compile(r"\w{1,100}", re.A)  # of a group; it stands in comments of the C that is written
WORD = re.compile(r"-?\w{1,60}", re.A)  # of a variant, and a value in `set`


def write(graph, groups, units, digest, file):
    unit_of = {n: u for u, nodes in units.items() for n in nodes}
    text = HEAD.format(name=graph.name, file=in_comment(file), graph=digest)
    for g in (g for g in groups if not g.is_added):
        members = dict.fromkeys(unit_of[n] for n in g.nodes)
        text += f"    {{ name = {quoted(g.name)},\n"
        text += "      nodes = { " + ",\n                ".join(quoted(m) for m in members) + " },\n"
        if g.call or g.wanted:
            text += f"      op = {quoted(g.call.op if g.call else g.wanted)},\n"
        if g.variant:
            text += f"      variant = {quoted(g.variant)},\n"
        if g.settings:
            text += "      set = { " + ", ".join(f"{k} = {setting(v)}" for k, v in sorted(g.settings.items())) + " },\n"
        if g.schedule:
            text += f"      schedule = {quoted(g.schedule)},\n"
        text += f"      why = {quoted(g.why)} }},\n"
    return text + "  },\n}\n"


def setting(text):
    return text if re.fullmatch(r"\d{1,9}", text) else quoted(text)


def in_comment(text):
    """The name of a file in a comment of Lua or C, which it cannot end."""
    return re.sub(r"[^A-Za-z0-9._+ -]", "?", text)


def quoted(text):
    """A string of Lua, in which what a terminal would not show, or obey, is written as its number."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in plain) + '"'


def unquoted(text):
    """What a string of such a file says. A number that is no character gives the one that stands for such."""
    def escape(found):
        if found.group(2):
            return {"n": "\n", "t": "\t"}.get(found.group(2), found.group(2))
        number = int(found.group(1), 16)
        return chr(number) if number < 0xd800 or 0xe000 <= number < 0x110000 else "\ufffd"
    return re.sub(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", escape, text[1:-1])


def units_of(graph, groups):
    """{name: nodes} of what may be moved between groups."""
    units, made = {}, Names("~")
    by_origin = {}
    for g in groups:
        by_origin.setdefault(g.nodes[0].origin, []).append(g)
    for origin, parts in by_origin.items():
        place = graph.places[origin]
        found = re.match(r'(\S+) (?:"([^"]*)"|without a name)(?:, which makes "([^"]*)")?', place)
        name = (found.group(2) or found.group(3) or found.group(1)) if found else place
        for i, g in enumerate(parts):
            wanted = name if len(parts) == 1 else f"{name}#{i + 1}"
            units[made.add(wanted)] = g.nodes
    return units


def read(path, graph, units, digest):
    """Groups as a file has them. Raises ModelError."""
    table = Parser(path).model()
    listed = table.get("groups", [])
    if not isinstance(listed, list) or not all(isinstance(e, dict) for e in listed):
        raise ModelError(f'{path}: error: groups is a list of tables, each with name and nodes')
    if table.get("graph") != digest:
        raise ModelError(f"{path}: error: this is a schedule of another model, or of another version of it: its nodes are not those of "
                         f"{graph.name}; compile without --schedule writes one that fits")
    groups, taken = [], {}
    for entry in listed:
        at = f"{path}:{entry['line']}: error: a group"
        texts = {f: entry.get(f, "") for f in ("name", "op", "variant", "schedule", "why")}
        if not all(isinstance(t, str) for t in texts.values()) or not isinstance(entry.get("nodes", []), list):
            raise ModelError(f"{at} has a field that is no text, or nodes that are no list of texts")
        if not NAME.fullmatch(texts["name"]):
            raise ModelError(f"{at} has the name {quoted(texts['name'][:60])}; a name is letters, digits and _")
        at = f'{path}:{entry["line"]}: error: group "{texts["name"]}"'
        unknown = set(entry) - {"name", "nodes", "why", "schedule", "op", "variant", "set", "line"}
        if unknown:
            raise ModelError(f"{at} has no field {sorted(unknown)[0]}; there are name, nodes, op, variant, set, schedule and why")
        if texts["variant"] and not WORD.fullmatch(texts["variant"]):
            raise ModelError(f"{at} has the variant {quoted(texts['variant'][:60])}, which is the name of no schedule")
        nodes = []
        for unit in entry.get("nodes", []):
            if not isinstance(unit, str) or unit not in units:
                near = difflib.get_close_matches(str(unit), units, 1)
                raise ModelError(f'{at}: the model has no node "{unit}"' + (f'\n  did you mean "{near[0]}"?' if near else ""))
            if unit in taken:
                raise ModelError(f'{at}: "{unit}" stands in group "{taken[unit]}" already')
            taken[unit] = texts["name"]
            nodes += units[unit]
        if not nodes:
            raise ModelError(f"{at} has no nodes")
        group = Group(nodes, texts["name"])
        group.variant, group.settings = texts["variant"], settings_of(entry.get("set", {}), at)
        group.wanted, group.schedule, group.why, group.at = texts["op"], texts["schedule"], texts["why"], at
        groups.append(group)
    missing = [u for u in units if u not in taken]
    if missing:
        raise ModelError(f'{path}: error: {len(missing)} nodes are in no group, the first is "{missing[0]}"')
    return arranged(graph, groups)


def settings_of(table, at):
    """{parameter: value as text}. Raises ModelError."""
    if not isinstance(table, dict):
        if table:
            raise ModelError(f"{at}: set is a table of names with numbers, as {{ task = 1024 }}")
        return {}
    made = {}
    for name, value in table.items():
        if name == "line":
            continue
        text = str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 30 else value
        if not isinstance(text, str) or not WORD.fullmatch(text):
            raise ModelError(f"{at}: {name} in set is neither a whole number nor a word")
        made[name] = text
    return made


def schedule_of(group, folder):
    """The path of the schedule that a group names: a .lua file in the folder of NAME.lua, or below it, as NAME.lua may be anybody's."""
    path = os.path.join(folder, group.schedule)
    outside = os.path.isabs(group.schedule) or ".." in group.schedule.split("/") or not group.schedule.endswith(".lua") or \
        os.path.commonpath([os.path.realpath(folder), os.path.realpath(path)]) != os.path.realpath(folder)
    if "\0" in path or outside:
        raise ModelError(f"{group.at}: the schedule {quoted(group.schedule[:200])} is no .lua file in the folder of this file")
    if not os.path.isfile(path):
        raise ModelError(f"{group.at}: there is no schedule {path[:300]}")
    return path


def arranged(graph, groups):
    """With the nodes of each in order, its result last where it has one. Raises ModelError where a group goes round."""
    fusing = Fusing(graph, groups)
    for g in groups:
        g.nodes.sort(key=fusing.position.get)
        members = set(g.nodes)
        out = [n for n in g.nodes if n.output in graph.outputs or any(c not in members for c in fusing.consumers.get(n.output, []))]
        if len(out) > 1:
            g.several = [n.output for n in out]
        else:
            g.nodes.remove(out[0])
            g.nodes.append(out[0])
    result = ordered(graph, groups)
    made = set()
    for g in result:
        for v in g.inputs:
            if v.node is not None and v not in made:
                raise ModelError(f"{g.at} needs what is computed of its own result: {graph.places[v.node.origin]} stands between its nodes")
        made.update(g.results)
    return result


class Parser:
    """Reads the tables of such a file, and nothing else of Lua."""

    TOKEN = re.compile(r'\s+|--\[\[.*?\]\]|--[^\n]*|(?P<word>[A-Za-z_]\w*)|(?P<number>-?\d+(?:\.\d+)?)|'
                       r'(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(?P<sign>[{}=,;\[\]()])', re.S)

    def __init__(self, path):
        self.path = path
        try:
            with open(path, encoding="utf-8") as f:
                text = f.read(64 << 20)
        except (OSError, UnicodeDecodeError) as e:
            raise ModelError(f"{path}: error: cannot be read: {e}") from e
        self.tokens, at, line = [], 0, 1
        while at < len(text):
            found = self.TOKEN.match(text, at)
            if found is None:
                raise ModelError(f"{path}:{line}: error: {text[at]!r} is not expected here; the file is a table of strings, numbers and tables")
            if found.lastgroup:
                self.tokens.append((found.lastgroup, found.group(), line))
            line += found.group().count("\n")
            at = found.end()
        self.tokens.append(("end", "the end", line))
        self.next = 0
        self.depth = 0

    def fail(self, wanted):
        _, text, line = self.tokens[self.next]
        raise ModelError(f"{self.path}:{line}: error: {wanted} is expected, not {text}; the file is a table of strings, numbers and tables")

    def peek(self, text=None, kind=None):
        token = self.tokens[self.next]
        return (text is None or token[1] == text) and (kind is None or token[0] == kind)

    def take(self, text=None, kind=None):
        if not self.peek(text, kind):
            self.fail(text or f"a {kind}")
        self.next += 1
        return self.tokens[self.next - 1]

    def model(self):
        self.take("return")
        self.take("model")
        self.take(kind="string")
        table = self.table()
        self.take(kind="end")
        return table if isinstance(table, dict) else {}

    def value(self):
        if self.peek("{"):
            return self.table()
        if self.peek(kind="number"):
            return float(self.take()[1])
        if self.peek("true") or self.peek("false"):
            return self.take()[1] == "true"
        return unquoted(self.take(kind="string")[1])

    def table(self):
        line = self.take("{")[2]
        self.depth += 1
        if self.depth > 8:
            self.fail("no deeper table")
        fields, items = {}, []
        while not self.peek("}"):
            if self.peek(kind="word") and self.tokens[self.next + 1][1] == "=":
                key = self.take()[1]
                self.take("=")
                fields[key] = self.value()
            else:
                items.append(self.value())
            if not (self.peek(",") or self.peek(";")):
                break
            self.take()
        self.take("}")
        self.depth -= 1
        return {**fields, "line": line} if fields else items
