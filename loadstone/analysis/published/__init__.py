"""A run's own numbers beside the published ones: each published value, and what the run measured under the same
settings; or why there is no such number."""

from loadstone.analysis.published.matching import PublishedRow, beside

__all__ = ["PublishedRow", "beside"]
