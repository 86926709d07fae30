package main

import (
	"fmt"
	"strconv"

	"loadstone.dev/stone/reference"
)

const referenceUsage = `usage: stone reference

Times a computation that is always the same (encoding JSON, as services do), about 60 ms of processor time in 15 parts,
on whichever core the kernel puts it, and prints the median of a part in milliseconds. Where it changes between two
calls, the speed of the machine did.
`

func init() {
	verbs["reference"] = verb{"time a fixed computation, which shows drift of the machine's speed", runReference}
}

func runReference(args []string) int {
	if code, answered := only("reference", referenceUsage, args); answered {
		return code
	}
	fmt.Println(strconv.FormatFloat(reference.Time(), 'f', 4, 64))
	return 0
}
