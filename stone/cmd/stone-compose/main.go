// Command stone-compose prints compose files as one normalised project. It stays on the desk, and is a program of its
// own for its initialisation: inside `stone`, the format's schemas would be compiled whenever a service or a node starts.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"loadstone.dev/stone/compose"
)

const help = `usage: stone-compose [--profile NAME]... FILE...

Reads compose files as 'docker compose -f FILE -f FILE' does (later files override earlier ones; include, extends, .env,
variables) and prints the whole project in long forms as JSON, with the files and variables that it was made of.

Example:
  stone-compose docker-compose.yml docker-compose.prod.yml

Exit codes: 0 done, 2 the files are not a project.
`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var profiles []string
	flags := flag.NewFlagSet("stone-compose", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, help) }
	flags.Func("profile", "", func(name string) error { profiles = append(profiles, name); return nil })
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprint(os.Stderr, help)
		return 2
	}
	loaded, err := compose.Load(flags.Args(), profiles)
	if err != nil {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
		return 2
	}
	if err := json.NewEncoder(os.Stdout).Encode(loaded); err != nil {
		fmt.Fprintln(os.Stderr, "stone-compose:", err)
		return 1
	}
	return 0
}
