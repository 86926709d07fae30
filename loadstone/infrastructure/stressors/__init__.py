"""Stressors: ``stress-ng`` on the machines of nodes, in control groups of their own, journalled here and there.

``program`` has the command line of ``stress-ng`` and what it reports, ``part`` the stressor of one node, ``used`` what
stressors used between two readings, ``stressors`` those of a trial from their start to their removal.
"""

from loadstone.infrastructure.stressors.stressors import Stressors

__all__ = ["Stressors"]
