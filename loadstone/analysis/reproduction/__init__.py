"""The comparison of the fifth study (Vinken, 2022), kept so that its tables can be made again: best-fit runs.

Every two runs of a scenario are compared by the Anderson-Darling and the Kolmogorov-Smirnov statistic of all their
requests. The run with the smallest sum of Anderson-Darling statistics to the others stands for its scenario, and is
compared with the run that stands for the baseline. What that is worth: docs/how-to/reproduce-a-paper.md.
"""

from loadstone.analysis.reproduction.tables import BestFits, best_fits

__all__ = ["BestFits", "best_fits"]
