# SPDX-License-Identifier: MIT
"""Formats the findings of `gangway doctor` as a table or as JSON."""
import json
from typing import NamedTuple

from gangway.tools.command_line import table

GOOD, NOTE, BAD = "good", "note", "bad"


class Finding(NamedTuple):
    item: str
    health: str  # GOOD, NOTE or BAD
    detail: str  # the fact; for NOTE and BAD also the remedy


def is_healthy(findings: list[Finding]) -> bool:
    return all(finding.health != BAD for finding in findings)


def findings_text(findings: list[Finding]) -> str:
    return table(list(Finding._fields), findings, left=3)


def findings_json(findings: list[Finding], **more) -> str:
    return json.dumps({"healthy": is_healthy(findings), "findings": [finding._asdict() for finding in findings], **more},
                      indent=2, ensure_ascii=False) + "\n"
