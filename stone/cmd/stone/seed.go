package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"loadstone.dev/stone/apps/hotel/data"
	"loadstone.dev/stone/platform/seeding"
)

// seeds has each application's collections under a profile; another application adds its line.
var seeds = map[string]func(profile string) ([]seeding.Collection, error){
	"hotel": data.Collections,
}

// seedTimeout bounds a run against stores that do not answer.
const seedTimeout = time.Minute

const seedUsage = `fill and verify the stores of an application

usage: stone seed APP --plan FILE [--reset | --verify | --count]

  APP       %s
  --plan    JSON: {"stores": {"documents-geo": "postgres://postgres@127.0.0.1:5432/postgres", ...},
            "caches": {"memcached-rate": "127.0.0.1:11211", ...}, "profile": ""}
  --reset   empty stores and caches first
  --verify  only compare the stores with the seed
  --count   only count what the stores hold

Prints JSON, a row for each collection. Exit code 0 ok, 1 unexpected, 2 bad plan,
4 the stores do not hold exactly the seed.
`

func init() {
	verbs["seed"] = verb{"fill and verify the stores of an application", seed}
}

func seed(args []string) int {
	usage := fmt.Sprintf(seedUsage, strings.Join(seedNames(), ", "))
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		fmt.Print(usage)
		return 0
	}
	flags := flag.NewFlagSet("stone seed", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	file := flags.String("plan", "", "")
	modes := map[seeding.Mode]*bool{
		seeding.Reset:  flags.Bool("reset", false, ""),
		seeding.Verify: flags.Bool("verify", false, ""),
		seeding.Count:  flags.Bool("count", false, ""),
	}
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	mode, given := seeding.Fill, 0
	for candidate, chosen := range modes {
		if *chosen {
			mode, given = candidate, given+1
		}
	}
	collections, known := seeds[args[0]]
	switch {
	case !known:
		return complain(2, fmt.Errorf("no application %q; there is %s", args[0], strings.Join(seedNames(), ", ")))
	case *file == "" || flags.NArg() > 0:
		return complain(2, errors.New("need --plan FILE and no further arguments; see stone seed --help"))
	case given > 1:
		return complain(2, errors.New("--reset, --verify and --count exclude each other"))
	}
	return runSeed(collections, *file, mode)
}

func runSeed(collections func(string) ([]seeding.Collection, error), file string, mode seeding.Mode) int {
	plan, err := seeding.ReadPlan(file)
	if err != nil {
		return complain(2, err)
	}
	chosen, err := collections(plan.Profile)
	if err != nil {
		return complain(2, fmt.Errorf("%s: %w", file, err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), seedTimeout)
	defer cancel()
	result, err := seeding.Run(ctx, plan, chosen, mode)
	if errors.Is(err, seeding.ErrPlan) {
		return complain(2, fmt.Errorf("%s: %w", file, err))
	}
	if err != nil {
		return complain(1, err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return complain(1, err)
	}
	if !result.OK {
		remedy := "run it with --reset"
		if mode == seeding.Verify {
			remedy = "seed them with --reset"
		}
		return complain(4, fmt.Errorf("the stores do not hold exactly the seed; %s", remedy))
	}
	return 0
}

func complain(code int, err error) int {
	fmt.Fprintln(os.Stderr, "stone seed:", err)
	return code
}

func seedNames() []string {
	names := make([]string, 0, len(seeds))
	for name := range seeds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
