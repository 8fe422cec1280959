"""What the command shows, as objects that a notebook draws: halyard.schedule, show, explain, explore."""

import hashlib
import html
import json
import os
import pathlib
import tempfile

from ._command import op_name, options, run


def _cache():
    """As the command has it (scripts/kernel/paths.h)."""
    if given := os.environ.get("HALYARD_CACHE"):
        return pathlib.Path(given)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "halyard")


def _write(path, text):
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as part:
        part.write(text)
    os.replace(part.name, path)


class Page:
    """A text, and the page of it that a notebook shows; `page` is that or a function that makes it."""

    def __init__(self, text, page=None):
        self.text, self._page = text, page

    def __str__(self):
        return self.text

    __repr__ = __str__

    @property
    def page(self):
        """A whole document of HTML."""
        if callable(self._page):
            self._page = self._page()
        return self._page or f"<!doctype html><meta charset=utf-8><pre>{html.escape(self.text)}</pre>"

    def _repr_html_(self):
        # A document of its own, with its own styles.
        return f'<iframe srcdoc="{html.escape(self.page)}" style="width: 100%; height: 40em; border: 0; background: white"></iframe>'

    def save(self, path):
        """Writes the page as a file."""
        pathlib.Path(path).write_text(self.page)


class Schedule(os.PathLike):
    """A script in Lua; halyard.op(..., schedule=...) takes it."""

    def __init__(self, path, text):
        self.path, self.text = path, text

    def __fspath__(self):
        return str(self.path)

    def __repr__(self):
        return f"<halyard schedule {self.path}>"

    def _repr_html_(self):
        return f"<p><code>{html.escape(str(self.path))}</code></p><pre>{html.escape(self.text)}</pre>"

    def save(self, path):
        """Writes it as a file of your own, and returns the schedule there."""
        pathlib.Path(path).write_text(self.text)
        return Schedule(pathlib.Path(path).absolute(), self.text)


def schedule(script):
    """A schedule: a Lua file, or the text of one, as a cell of a notebook has it. It is checked; halyard.Error says what is wrong."""
    text = os.fspath(script)
    found = _of_text(text) if "\n" in text else Schedule(pathlib.Path(text).absolute(), pathlib.Path(text).read_text())
    run("check", found)
    return found


def _of_text(text):
    """The text as a file that stays."""
    path = _cache() / "scripts" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.lua"
    _write(path, text)
    return Schedule(path, text)


def _words(name, schedule, target, devices, set, facts, shape, generator, params):
    return [op_name(name), *options(schedule=schedule, target=target, devices=devices, set=set, facts=facts, shape=shape, generator=generator,
                           params=params)]


def show(name, *, schedule=None, target=None, devices=None, set=None, facts=None, generator=None, **params):
    """The loop nest of an op, each loop beside the line of the schedule that made it."""
    words = _words(name, schedule, target, devices, set, facts, None, generator, params)
    report = json.loads(run("show", *words, "--json"))
    cell = "text-align: left; white-space: pre; font-family: monospace; padding: 0 1em 0 0"
    rows = []
    for loop in report.get("nest", []):
        line = f"{os.path.basename(loop['file'])}:{loop['line']}  {loop['source']}" if "line" in loop else ""
        rows.append(f'<tr><td style="{cell}">{html.escape(loop["text"])}</td>'
                    f'<td style="{cell}; color: gray">{html.escape(line)}</td></tr>')
    page = (f"<!doctype html><meta charset=utf-8><title>{html.escape(name)}</title><p><code>{html.escape(report.get('script', name))}"
            f"</code> for <code>{html.escape(report.get('target', ''))}</code></p><table>{''.join(rows)}</table>")
    return Page(run("show", *words).rstrip(), page)


def explain(name, *, schedule=None, shape=None, target=None, devices=None, set=None, facts=None, generator=None, predict=False, **params):
    """Where bytes and time of an op go, with the roofline."""
    words = _words(name, schedule, target, devices, set, facts, shape, generator, params) + (["--predict"] if predict else [])

    def page():
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "page.html")
            run("explain", *words, "--html", file)
            return file.read_text()

    return Page(run("explain", *words).rstrip(), page)


class Exploration(Page):
    """What a search found: `schedule`, which halyard.op takes, and its `report`."""

    def __init__(self, text, page, schedule, report):
        super().__init__(text, page)
        self.schedule, self.report = schedule, report


def explore(name, *, shape=None, budget="1m", schedule=None, most=None, threads=None, target=None, devices=None, set=None, facts=None,
            generator=None, **params):
    """Looks for the fastest schedule of an op for a size, for as long as `budget` says ("90s", "10m")."""
    words = _words(name, schedule, target, devices, set, facts, shape, generator, params) + ["--budget", str(budget)]
    words += ["--most", str(most)] if most else []
    words += ["--threads", str(threads)] if threads else []
    with tempfile.TemporaryDirectory() as folder:
        script, page, report = (pathlib.Path(folder, name) for name in ("found.lua", "page.html", "report.json"))
        text = run("explore", *words, "-o", script, "--html", page, "--report", report)
        found = _of_text(script.read_text()) if script.exists() else None
        text = text.replace(f"{script}: ", "").replace(f"{page}\n", "")
        return Exploration(text.rstrip(), page.read_text() if page.exists() else None, found,
                           json.loads(report.read_text()) if report.exists() else None)

