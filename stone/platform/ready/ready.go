// Package ready checks that servers of this host are ready: the verb `stone ready`, which is the
// health check of every container, runs every second until it succeeds and is charged to the limits of its replica.
//
// It therefore runs before the rest of the binary is initialised, which costs six times as much as the
// question itself. Go initialises packages in the order of their import paths, each once what it imports
// is initialised; this one imports so little that its turn comes first. Keep it so: not even strings, whose
// turn comes after reflect's. A test looks at what comes before.
package ready

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Usage is what --help prints.
const Usage = `usage: stone ready [--timeout TIME] [--pace TIME] URL...

Exits with 0 if every server is ready, for health checks of containers:

  http://ADDRESS:PORT/PATH   answers GET with 200
  tcp://ADDRESS:PORT         accepts connections

An address is an IPv4 number, not a name.

  --timeout TIME   for all of them together  (2s)
  --pace TIME      after it was ready once, wait so long before asking, until it is not  (0s)

Docker repeats a check at one interval, and each repetition costs the host 40 ms of CPU: with an interval of
1s and --pace 1m, a container is found ready quickly and then left alone.

Example: stone ready http://127.0.0.1:9083/readyz tcp://127.0.0.1:11211

Exit codes: 0 ready, 1 not ready (one line: a URL, a space and why), 2 bad input.
`

const defaultTimeout = 2 * time.Second

func init() {
	if len(os.Args) > 1 && os.Args[1] == "ready" {
		os.Exit(Main(os.Args[2:], os.Stdout, os.Stderr))
	}
}

// Main runs the verb with the arguments after its name and returns the exit code.
func Main(args []string, out, complaints *os.File) int {
	parsed, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		_, _ = out.WriteString(Usage)
		return 0
	case err != nil:
		_, _ = complaints.WriteString("stone ready: " + err.Error() + "; see stone ready --help\n")
		return 2
	}
	if parsed.pace > 0 && parsed.wasReady() {
		time.Sleep(parsed.pace)
	}
	deadline := time.Now().Add(parsed.timeout)
	for _, target := range parsed.targets {
		if err := target.ask(deadline); err != nil {
			parsed.remember(false)
			_, _ = complaints.WriteString(target.url + " " + err.Error() + "\n")
			return 1
		}
	}
	parsed.remember(true)
	return 0
}

// check is what the arguments say.
type check struct {
	timeout, pace time.Duration
	targets       []target
}

// target is what one URL says; an empty path: it only has to accept.
type target struct {
	url    string
	host   string // address and port
	socket syscall.SockaddrInet4
	path   string
}

var errHelp = errors.New("help")

func parse(args []string) (check, error) {
	parsed := check{timeout: defaultTimeout}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		name, value, given := cut(word, "=")
		switch {
		case word == "-h" || word == "--help":
			return parsed, errHelp
		case name == "--timeout" || name == "--pace":
			if !given && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			duration, err := time.ParseDuration(value)
			if err != nil || duration <= 0 {
				return parsed, errors.New(name + " " + strconv.Quote(value) + " is not a time such as 500ms or 2s")
			}
			if name == "--timeout" {
				parsed.timeout = duration
			} else {
				parsed.pace = duration
			}
		default:
			target, err := parseTarget(word)
			if err != nil {
				return parsed, err
			}
			parsed.targets = append(parsed.targets, target)
		}
	}
	if parsed.targets == nil {
		return parsed, errors.New("give at least one URL")
	}
	return parsed, nil
}

func parseTarget(url string) (target, error) {
	wrong := func(problem string) (target, error) { return target{}, errors.New(strconv.Quote(url) + " " + problem) }
	scheme, rest, _ := cut(url, "://")
	host, path, _ := cut(rest, "/")
	socket, ok := parseAddress(host)
	_, _, spaced := cut(url, " ")
	switch {
	case spaced || !isPlain(url):
		return wrong("has a character that a URL cannot have")
	case !ok:
		return wrong("has no address and port such as 127.0.0.1:8080 (a number, not a name)")
	case scheme == "http":
		return target{url, host, socket, "/" + path}, nil
	case scheme == "tcp" && path == "":
		return target{url, host, socket, ""}, nil
	default:
		return wrong("is neither http://ADDRESS:PORT/PATH nor tcp://ADDRESS:PORT")
	}
}

// parseAddress reads 127.0.0.1:8080; the package net, which could, would come too late.
func parseAddress(host string) (socket syscall.SockaddrInet4, ok bool) {
	address, port, _ := cut(host, ":")
	dotted := true
	for i := range socket.Addr {
		var part string
		part, address, dotted = cut(address, ".")
		number, err := strconv.ParseUint(part, 10, 8)
		if err != nil || strconv.Itoa(int(number)) != part { // 010 is ten to some and eight to others
			return socket, false
		}
		socket.Addr[i] = byte(number)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	socket.Port = int(number)
	return socket, err == nil && number > 0 && !dotted
}

// isPlain says whether a text is of printable ASCII letters alone.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// cut is strings.Cut, whose package would come too late.
func cut(text, separator string) (before, after string, found bool) {
	for i := 0; i+len(separator) <= len(text); i++ {
		if text[i:i+len(separator)] == separator {
			return text[:i], text[i+len(separator):], true
		}
	}
	return text, "", false
}
