// Package counters reads what the kernel of a machine holds replicas to and what they have used, and records the counters
// of the machine and of its replicas over time. It is the one reader of the kernel: `stone node` answers from it, and
// `stone agent` shows its numbers to Prometheus.
//
// It reads files of the kernel (and queries chronyd), and finds a container only by its whole id, or by that of its
// allocation in Nomad. Each interface of the kernel has its file here, with a collector that reads it again and again below
// the Roots of its Host; a recording reads a set of them at each tick and keeps a table until it is taken.
package counters
