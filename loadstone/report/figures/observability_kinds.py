"""The figures of observability, by their part of the page."""

from __future__ import annotations

from loadstone.report.figures import busy, critical, cstates, guests, heat, power, threads
from loadstone.report.figures.kinds import Kind

TIME = (
    Kind(
        "critical-shares",
        critical.shares,
        "Growth of shares of the critical path",
        "A service's own time on the critical path and that on the way to it, of the whole, over all traces of a trial "
        "whose root began in the window ({window}). The service that gains most from the lowest load to the highest "
        "is drawn strongly and named.",
        "traces_services",
    ),
    Kind(
        "latency-heat",
        heat.heat,
        "Latency of the traced requests over time",
        "The darker, the more traces began then and took so long (all traces of one trial's window, {window}; by "
        "square root). The highest load that held, and the lowest from there on that did not{panels}.",
        "traces_heat",
    ),
    Kind(
        "critical-paths",
        critical.flame,
        "Where the time of a request goes",
        "Each bar is a call, as wide as its share of the critical path of all traces of the trial, with all that it "
        "calls; below it stand the calls that it waited for. Pale bars (to ...) are time on the network and in queues. "
        "The highest load that held{panels}.",
        "traces_paths",
        wide=True,
    ),
)
NODES = (
    Kind(
        "nodes",
        busy.nodes,
        "CPU of each node against the load",
        "Busy time (user, system and interrupts) over the window ({window}), as a share of all CPUs of the node. Every "
        "trial is a dot, lines are medians. {nodes}; at most the six busiest are drawn.",
        "metrics_nodes",
    ),
    Kind(
        "nodes-bars",
        busy.node_bars,
        "CPU of every node at the highest load",
        "Busy time (user, system and interrupts) over the window ({window}), in cores: the median over the valid "
        "trials of each treatment's highest load. Nodes that share one machine are counted by what runs in them.",
        "metrics_nodes",
        wide=True,
    ),
)
GUESTS = (
    Kind(
        "guests",
        guests.both_sides,
        "Virtual machines as their host and they themselves count them",
        "Means over the window ({window}), at each treatment's highest load; the median over its valid trials. CPU and "
        "memory of the host are those of the guest's QEMU, its context switches those of the whole machine.",
        "metrics_guests",
        wide=True,
    ),
)
SERVICES = (
    Kind(
        "services",
        busy.services,
        "CPU of each service against the load",
        "Cores used over the window ({window}), summed over the replicas of a service. Every trial is a dot, lines are "
        "medians. At most the six busiest services are drawn.",
        "metrics_services",
    ),
    Kind(
        "threads",
        threads.threads,
        "Threads of each service before and after",
        "At the reading next to the start (hollow) and to the end (filled) of the window ({window}), summed over a "
        "service's replicas, at the highest load that held.",
        "metrics_services",
    ),
    Kind(
        "throttling",
        threads.throttling,
        "Throttling against {percentile}",
        "Every trial is one marker. Throttled: the share of a service's scheduling periods in the window ({window}) in "
        "which it had used up its quota, mean over its replicas; of the service where it is highest.",
        "metrics_services",
    ),
)
CSTATES = (
    Kind(
        "cstates",
        cstates.residency,
        "C-state residency",
        "Share of all CPUs' time over the window ({window}) in each state, mean over {tested}, median over a load's "
        "trials. C0 is the time that no idle state accounts for.",
        "metrics_cstates",
    ),
    Kind(
        "transitions",
        cstates.transitions,
        "C-state transitions",
        "How often a second each idle state was entered over the window ({window}): sum over a node's CPUs, mean over "
        "{tested}, median over a load's trials.",
        "metrics_cstates",
    ),
)
POWER = (
    Kind(
        "power",
        power.domains,
        "Power by domain",
        "Energy counters over the window ({window}), summed over the packages of {powered}; median over a load's "
        "trials.",
        "metrics_energy",
    ),
    Kind(
        "energy",
        power.per_request,
        "Energy per completed request",
        "Power of packages and memory, summed over {powered}, divided by the requests completed a second in the window "
        "({window}); the idle power is in it. Every trial is one marker, lines are medians.",
        "metrics_energy",
    ),
)
PARTS = {"time": TIME, "nodes": NODES, "guests": GUESTS, "services": SERVICES, "cstates": CSTATES, "power": POWER}
