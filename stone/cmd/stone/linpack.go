package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"loadstone.dev/stone/platform/tasks"
)

const linpackUsage = `find the order of a system of equations that takes a time to solve

usage: stone linpack --target 20ms | --order N

  --target    find the order whose solution takes this time in the median, here and now
  --order     only measure this order

The tasks LinpackBenchmark1 and LinpackBenchmark2 of the application shop solve systems of a given order, so that their
work is equal in all environments. Calibrate once, on the quiet baseline, and write the order into the study:
tasks: {user: {linpack: N}}. Prints JSON: order, samples, and median, fastest and slowest time in us.
`

func init() {
	verbs["linpack"] = verb{"find the order of a system of equations that takes a time to solve", linpack}
}

func linpack(args []string) int {
	flags := flag.NewFlagSet("stone linpack", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, linpackUsage) }
	target := flags.Duration("target", 0, "")
	order := flags.Int("order", 0, "")
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		fmt.Print(linpackUsage)
		return 0
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	got, err := tasks.Calibration{}, error(nil)
	switch {
	case (*target > 0) == (*order > 0) || flags.NArg() > 0 || *target > time.Minute || *order > tasks.LargestOrder:
		fmt.Fprintf(os.Stderr, "stone linpack: give --target (up to 1m) or --order (up to %d); see stone linpack --help\n", tasks.LargestOrder)
		return 2
	case *target > 0:
		got, err = tasks.Calibrate(*target)
	default:
		got, err = tasks.Time(*order, 51)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(got)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stone linpack:", err)
		if errors.Is(err, tasks.ErrTooLong) {
			return 2
		}
		return 1
	}
	return 0
}
