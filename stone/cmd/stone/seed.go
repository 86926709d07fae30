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

	docstore "loadstone.dev/stone/apps/docstore/seed"
	hotel "loadstone.dev/stone/apps/hotel/data"
	media "loadstone.dev/stone/apps/media/data"
	shop "loadstone.dev/stone/apps/shop/seed"
	social "loadstone.dev/stone/apps/social/seed"
	"loadstone.dev/stone/platform/seeding"
)

// seeds makes what an application's stores are to hold under a plan; another application adds its line.
var seeds = map[string]func(plan seeding.Plan) (seeding.App, error){
	"docstore": func(plan seeding.Plan) (seeding.App, error) { return docstore.New(plan) },
	"hotel":    func(plan seeding.Plan) (seeding.App, error) { return hotel.New(plan.Profile) },
	"media":    func(plan seeding.Plan) (seeding.App, error) { return media.NewSeed(plan) },
	"shop":     func(plan seeding.Plan) (seeding.App, error) { return shop.New(plan) },
	"social":   func(plan seeding.Plan) (seeding.App, error) { return social.New(plan) },
}

// seedTimeout bounds a run against stores that answer too slowly.
const seedTimeout = time.Hour

const seedUsage = `fill, verify and check the stores of an application

usage: stone seed APP --plan FILE [--reset | --verify | --count | --check | --describe]

  APP         %s
  --plan      JSON: {"stores": {"documents-geo": "postgres://postgres@127.0.0.1:5432/postgres", ...},
              "redis": {"redis-home-timeline": "127.0.0.1:6379", ...},
              "caches": {"memcached-rate": "127.0.0.1:11211", ...},
              "couchdb": {"couchdb": "127.0.0.1:5984"}, "profile": "",
              "dataset": {"users": 962, ...}, "entry": ["127.0.0.1:8080", ...], "unfinished": 0,
              "password": "", "wait_s": 30}; "-" is standard input, so that a password stays in no file
  --reset     make the stores hold the seed alone, and empty the caches
  --verify    only compare the stores with the seed
  --count     only count what the stores hold
  --check     only compare the stores with each other, after load: at most as many writes as the plan
              says were left unfinished may be there in part
  --describe  only print the numbers of the seed, without connecting to a store

Prints JSON: a row for each collection ("stores"), or for each thing that was checked ("rows"). Says on standard
error how far it is, in lines of JSON. Exit code 0 ok, 1 unexpected, 2 bad plan, 4 the stores do not hold exactly
the seed, or do not agree with each other.
`

func init() {
	verbs["seed"] = verb{"fill, verify and check the stores of an application", seed}
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
		seeding.Check:  flags.Bool("check", false, ""),
		describe:       flags.Bool("describe", false, ""),
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
	load, known := seeds[args[0]]
	switch {
	case !known:
		return complain(2, fmt.Errorf("no application %q; there is %s", args[0], strings.Join(seedNames(), ", ")))
	case *file == "" || flags.NArg() > 0:
		return complain(2, errors.New("need --plan FILE and no further arguments; see stone seed --help"))
	case given > 1:
		return complain(2, errors.New("--reset, --verify, --count, --check and --describe exclude each other"))
	}
	return runSeed(load, *file, mode)
}

// describe is not a mode of the stores: it opens none.
const describe seeding.Mode = -1

func runSeed(load func(seeding.Plan) (seeding.App, error), file string, mode seeding.Mode) int {
	plan, err := seeding.ReadPlan(file)
	if err != nil {
		return complain(2, err)
	}
	plan.Progress = os.Stderr
	app, err := load(plan)
	if err != nil {
		return complain(2, fmt.Errorf("%s: %w", file, err))
	}
	if mode == describe {
		return printJSON(app.Describe())
	}
	ctx, cancel := context.WithTimeout(context.Background(), seedTimeout)
	defer cancel()
	result, err := seeding.Run(ctx, plan, app, mode)
	if errors.Is(err, seeding.ErrPlan) {
		return complain(2, fmt.Errorf("%s: %w", file, err))
	}
	if err != nil {
		return complain(1, err)
	}
	if code := printJSON(result); code != 0 || result.OK {
		return code
	}
	switch mode {
	case seeding.Check:
		err = errors.New("the stores do not agree with each other")
	case seeding.Verify:
		err = errors.New("the stores do not hold exactly the seed; seed them with --reset")
	default:
		err = errors.New("the stores do not hold exactly the seed; run it with --reset")
	}
	return complain(4, err)
}

func printJSON(value any) int {
	if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
		return complain(1, err)
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
