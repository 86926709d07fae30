// Command stone is the one binary that Loadstone puts on a node: it drives load,
// serves the services of the benchmark applications and fills their stores.
package main

import (
	"fmt"
	"os"
	"sort"
)

// verb is one subcommand: it gets the arguments after its name and returns the exit code.
type verb struct {
	summary string
	run     func(args []string) int
}

// verbs is filled by one file a verb (load.go, serve.go, seed.go ...), each in its init.
var verbs = map[string]verb{}

func main() {
	if len(os.Args) < 2 || os.Args[1] == "-h" || os.Args[1] == "--help" || os.Args[1] == "help" {
		usage(os.Stdout)
		return
	}
	chosen, known := verbs[os.Args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "stone: no verb %q\n\n", os.Args[1])
		usage(os.Stderr)
		os.Exit(2)
	}
	os.Exit(chosen.run(os.Args[2:]))
}

func usage(out *os.File) {
	fmt.Fprint(out, "stone: the instrument and the applications of Loadstone\n\nusage: stone VERB [OPTIONS]\n\n")
	names := make([]string, 0, len(verbs))
	for name := range verbs {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(out, "  %-9s %s\n", name, verbs[name].summary)
	}
	fmt.Fprint(out, "\n'stone VERB --help' shows a verb's options and examples.\n")
}

// only answers for a verb without options: help, or a complaint of any argument.
func only(verb, help string, args []string) (code int, answered bool) {
	switch {
	case len(args) == 0:
		return 0, false
	case args[0] == "-h" || args[0] == "--help":
		fmt.Print(help)
		return 0, true
	}
	fmt.Fprintf(os.Stderr, "stone %s: unexpected argument %q; see 'stone %s --help'\n", verb, args[0], verb)
	return 2, true
}
