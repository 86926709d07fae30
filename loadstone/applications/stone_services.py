"""The services of the ``stone`` binary: what ``stone serve`` knows, which checking an application need not start."""

from __future__ import annotations

_OF = {
    "docstore": "queue",
    "hotel": "attractions frontend geo profile rate recommendation reservation review search user",
    "media": (
        "cast-info compose-review frontend movie-id movie-info movie-review page plot rating review-storage text "
        "unique-id user user-review"
    ),
    "shop": "order payment user",
    "social": (
        "compose-post frontend home-timeline media media-frontend post-storage social-graph text unique-id "
        "url-shorten user user-mention user-timeline"
    ),
}
"""By application."""

NAMES = tuple(f"{application}/{name}" for application, names in _OF.items() for name in names.split())
