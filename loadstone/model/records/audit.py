"""``audit.json`` and ``checks.json``: was the deployment as wanted, and do the stores hold what was answered?"""

from __future__ import annotations

from pydantic import computed_field

from loadstone.model.records.base import Items, Record, Whole

NOT_OBSERVED, UNKNOWN = "not observed", "unknown"
"""Values, wanted and in force, of each limit and of the environment of a server that someone else deployed."""


class AuditRow(Record):
    """One limit of one replica: what was wanted and what the kernel has in force."""

    replica: str
    node: str
    what: str
    wanted: str
    effective: str
    waived: str = ""
    """The reason why a difference is accepted: the limit cannot be applied here, which was announced beforehand."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        """Whether the effective value is the wanted one, or the difference was announced."""
        return self.wanted == self.effective or bool(self.waived)

    @property
    def observed(self) -> bool:
        """Whether it was read back at all."""
        return self.wanted not in (NOT_OBSERVED, UNKNOWN)


class Check(Record):
    """What a check of the stores found."""

    ok: bool
    message: str


class GrowthCheck(Check):
    """One collection: by how much it grew, and what completed and sent writes allow."""

    store: str
    collection: str
    operation: str
    grew: Whole | None
    """None where the store has no such collection."""
    completed: Whole
    sent: Whole | None
    """None where the driver does not report it."""


class ContentCheck(Check):
    """What several stores hold together: how much of it should be there and is, with examples of what is not."""

    what: str
    want: Whole | str
    have: Whole | str
    examples: Items[str]
