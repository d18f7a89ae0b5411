# SPDX-License-Identifier: MIT
"""Formats reports of `gangway bench job` and `bench node` as text and as one HTML file."""
import functools
import html

from gangway.tools.command_line import counted, plain, table

FIGURES = (("images_per_second", "images/s", 1, 1), ("images_per_second_least", "least", 1, 1),
           ("milliseconds_per_image", "ms an image", 3, 1), ("step_milliseconds", "step ms", 2, 1), ("computing", "computes %", 1, 100),
           ("core_percent", "has a core %", 1, 1), ("sent_mib_per_second", "sends MiB/s", 1, 1), ("resident_gib", "resident GiB", 2, 1),
           ("device_gib", "a GPU GiB", 2, 1), ("efficiency", "efficiency %", 1, 100))  # key, title, digits, factor
SCORES = ("kid", "precision", "recall", "covered", "modes", "good_share")
COLOURS = ("#4472c4", "#ed7d31", "#70ad47", "#ffc000", "#7e57c2", "#00897b", "#c2185b", "#8d6e63")  # of parts, the largest first
REST_COLOUR = "#9e9e9e"
BAR_WIDTH = 1000
STYLE = ("body { font: 15px/1.5 sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 1rem; color: #222; background: #fff } "
         "div { overflow-x: auto } table { border-collapse: collapse } "
         "th, td { padding: .2rem .6rem; border-bottom: 1px solid #ccc; text-align: right } "
         "th:first-child, .words th, .words td { text-align: left } h1, .words td { overflow-wrap: anywhere } "
         "pre { white-space: pre-wrap } "
         "ul { list-style: none; padding: 0; columns: 3 12rem } svg.bar { display: block; width: 100%; height: 1.4rem } "
         "p:has(+ svg) { margin: .6rem 0 .1rem }")


_escaped = functools.partial(html.escape, quote=False)


class Table:
    """Formats a table as text or HTML."""

    def __init__(self, titles: list[str], rows: list[list[str]], is_words: bool = False):
        self.titles, self.rows, self.is_words = titles, rows, is_words

    def text(self) -> str:
        return table(self.titles, self.rows, left=len(self.titles) if self.is_words else 0)

    def html(self, label: str) -> str:
        """Returns the table in HTML. @param label  for screen readers"""
        lines = ["".join(f'<th scope="col">{_escaped(title)}</th>' for title in self.titles)]
        for first, *cells in self.rows:
            lines.append(f'<th scope="row">{_escaped(first)}</th>' + "".join(f"<td>{_escaped(cell)}</td>" for cell in cells))
        style = ' class="words"' if self.is_words else ""
        return (f'<div tabindex="0" role="region" aria-label="{label}"><table{style}>\n<tr>' + "</tr>\n<tr>".join(lines)
                + "</tr>\n</table></div>\n")


def _workers(row: dict) -> str:
    return counted(row["workers"], "worker")


def _figures(report: dict) -> Table:
    """Returns a row of figures per number of workers. Leaves out figures that no row has."""
    shown = [one for one in FIGURES if any(one[0] in row for row in report["rows"])]
    return Table(["workers", *(title for _, title, *_ in shown)],
                 [[str(row["workers"]), *(f"{row[key] * factor:.{digits}f}" if key in row else "-" for key, _, digits, factor in shown)]
                  for row in report["rows"]])


def _lines(report: dict) -> list[str]:
    """Returns the lines on recovery, score and digest."""
    lines = []
    if recovery := report["recovery"]:
        often = "once" if recovery["losses"] == 1 else f"{recovery['losses']} times"
        lines.append(f"recovery: {recovery['workers']} workers, one worker killed {often}: {recovery['median_seconds']:.2f} s until "
                     f"training resumes, {recovery['longest_seconds']:.2f} at most")
    if (score := report["score"]) is not None:
        figures = [f"{score.get('metric', '')} {score['score']:.4g}"] if "score" in score else []
        figures += [f"{name} {score[name]:.4g}" for name in SCORES if isinstance(score.get(name), (int, float))]
        lines.append(f"score after {report['steps']} steps: {', '.join(figures)}")
    return [*lines, f"digest: {report['digest']}, of all {report['runs']} runs"]


def _parts(report: dict) -> list[str]:
    """Returns names of parts, by their largest share over all rows, descending."""
    most = {}
    for row in report["rows"]:
        for name, share in row["parts"].items():
            most[name] = max(most.get(name, 0), share)
    return sorted(sorted(most), key=most.get, reverse=True)


def _legend_entry(colour: str, text: str) -> str:
    return (f'<li><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill="{colour}"/></svg> '
            f'{_escaped(text)}</li>')


def _bars(report: dict) -> str:
    """Returns a bar per row. The smallest parts, beyond the colours, share one."""
    names, text = _parts(report), ""
    for row in report["rows"]:
        rects, x = "", 0.0
        for place, name in enumerate(names):
            share, colour = row["parts"].get(name, 0.0), COLOURS[place] if place < len(COLOURS) else REST_COLOUR
            rects += (f'<rect x="{x:.1f}" width="{share * BAR_WIDTH:.1f}" height="22" fill="{colour}">'
                      f'<title>{_escaped(name)} {100 * share:.1f} %</title></rect>')
            x += share * BAR_WIDTH
        text += (f'<p>{_workers(row)}</p>\n<svg class="bar" viewBox="0 0 {BAR_WIDTH} 22" preserveAspectRatio="none" role="img" '
                 f'aria-label="Parts of a step, {_workers(row)}">{rects}</svg>\n')
    entries = [_legend_entry(colour, name) for colour, name in zip(COLOURS, names)]
    return f"{text}<ul>{''.join(entries)}{_legend_entry(REST_COLOUR, 'the rest') if len(names) > len(COLOURS) else ''}</ul>\n"


def _paragraphs(lines: list[str]) -> str:
    return "".join(f"<p>{_escaped(line)}</p>\n" for line in lines)


def _job_sections(report: dict) -> str:
    """Returns a job's sections below its heading."""
    parts = Table(["part, % of a step", *map(_workers, report["rows"])],
                  [[name, *(f"{100 * row['parts'].get(name, 0.0):.1f}" for row in report["rows"])] for name in _parts(report)])
    return (_figures(report).html("Figures") + "<h2>Parts of a step, slowest worker</h2>\n" + _bars(report)
            + parts.html("Parts") + "<h2>Recovery, score, digest</h2>\n" + _paragraphs(_lines(report)))


def _whole(title: str, command: str, body: str) -> str:
    title = _escaped(title)
    return ('<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}: {command}</title>\n<style>{STYLE}</style>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</html>\n")


def _heading(report: dict) -> str:
    return f"{report['steps']} steps, medians of {report['rounds']} alternating rounds"


def job_text(report: dict) -> str:
    """Returns the text of a report. @param report  as bench_job() returns it"""
    return _figures(report).text() + plain("".join(f"{line}\n" for line in _lines(report)))


def job_page(report: dict) -> str:
    host, processor, date = (_escaped(report[key]) for key in ("host", "processor", "date"))
    return _whole(report["job"], "gangway bench job", f"<p>{host}; {processor}; {date}, {_heading(report)}</p>\n" + _job_sections(report))


def _machine(report: dict) -> Table:
    machine = report["machine"]
    gpus = [[f"GPU {place}", f"{gpu['name']}, {gpu['memory_gib']:.1f} GiB, driver {gpu['driver']}"]
            for place, gpu in enumerate(machine["gpus"])]
    return Table(["part", "what"], [["processor", machine["processor"]], ["cores", str(machine["cores"])],
                                    ["memory", f"{machine['memory_gib']:.1f} GiB"], *gpus], is_words=True)


def _findings(report: dict) -> Table:
    titles = ["item", "health", "detail"]
    return Table(titles, [[finding[title] for title in titles] for finding in report["findings"] or []], is_words=True)


def _transports(report: dict) -> Table:
    """Returns the all-reduce times over shared memory and MPI, and over NCCL for several GPUs."""
    measured = [report[of] for of in ("transports", "nccl") if report.get(of)]
    return Table(["all-reduce", "workers", "MiB", "median ms", "busbw GB/s"],
                 [[row["row"], str(of["workers"]), str(row["bytes"] >> 20), f"{1e3 * row['median_seconds']:.3f}",
                   f"{1e-9 * row['bytes_per_second']:.2f}"] for of in measured for row in of["rows"]])


def _verdicts(report: dict) -> list[str]:
    """Returns the warnings and verdicts that precede the figures."""
    lines, job = [f"NOT QUIET: {report['busy']}, so these rates are too low"] if report["busy"] else [], report["job"]
    if job and job["rows"]:
        if job["unequal_digests"]:
            lines.append(f"DIGESTS DIFFER: {job['unequal_digests']}")
        elif len(job["rows"]) > 1:
            lines.append(f"all {job['runs']} runs have one digest, whatever the number of workers")
        else:
            lines.append("only one number of workers was measured: equal digests are not proved")
    return lines + [f"not measured: {failure}" for failure in report["failures"]]


def node_text(report: dict) -> str:
    """Returns the text of a report. @param report  of bench_node(); entries may be None"""
    tables = [_machine(report), *(one for one in (_findings(report), _transports(report)) if one.rows)]
    job = job_text(report["job"]) if report["job"] and report["job"]["rows"] else ""
    return "".join(f"{one.text()}\n" for one in tables) + job + plain("\n".join(_verdicts(report))) + "\n"


def node_page(report: dict) -> str:
    gangway, date = _escaped(report["gangway"]), _escaped(report["date"])
    body = (f"<p>Gangway {gangway}, {date}, {report['seconds']:.0f} s</p>\n" + _paragraphs(_verdicts(report)) + "<h2>Machine</h2>\n"
            + _machine(report).html("Machine"))
    if report["findings"] is not None:
        body += "<h2>gangway doctor</h2>\n" + _findings(report).html("Findings")
    if (transports := _transports(report)).rows:
        body += "<h2>Exchange between workers</h2>\n" + transports.html("Exchange")
    job = report["job"]
    if job and job["rows"]:
        keys = _escaped(f"; {' '.join(job['overrides'])}") if job["overrides"] else ""
        body += (f"<h2>A job on {'GPUs' if report['device'] == 'cuda' else 'cores'}</h2>\n<p>{_heading(job)}{keys}</p>\n"
                 f"<pre>{_escaped(report['job_yaml'])}</pre>\n{_job_sections(job)}")
    return _whole(report["host"], "gangway bench node", body)
