package main

import (
	"fmt"
	"os"

	"loadstone.dev/stone/load/result"
)

const mergeHelp = `usage: stone merge OUT PART_DIR...

Adds up the parts of one run that several load workers have made, each with "part": {"number": 0, "of": 2} and
so on in its plan and the same "start_unix_ns", and writes OUT/summary.json and OUT/latency.hlog as one would have.
The sums are exact. Parts of different plans, files or schedules are refused, and so is a part that is missing.

'stone load' does all of this by itself for a plan with members.

Example:
  stone merge results part-0 part-1

Exit codes: 0 done, 2 the parts are not one whole run, or the result cannot be written.
`

func init() {
	verbs["merge"] = verb{"add up the parts of a load that several workers drove", runMerge}
}

func runMerge(args []string) int {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Print(mergeHelp)
		return 0
	}
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "stone merge: give the folder of the result and those of all parts; see 'stone merge --help'")
		return 2
	}
	if _, err := result.Merge(args[0], args[1:], nil); err != nil {
		fmt.Fprintln(os.Stderr, "stone merge:", err)
		return 2
	}
	return 0
}
