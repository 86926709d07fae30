package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"loadstone.dev/stone/apps/docstore"
	"loadstone.dev/stone/apps/hotel"
	"loadstone.dev/stone/apps/media"
	"loadstone.dev/stone/apps/shop"
	"loadstone.dev/stone/apps/social"
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/service"
)

// applications are the services of each built-in application, by name.
var applications = map[string]map[string]service.Definition{
	"docstore": docstore.Services, "hotel": hotel.Services, "media": media.Services, "shop": shop.Services, "social": social.Services,
}

func init() {
	verbs["serve"] = verb{"run one service of an application", serve}
}

func serve(args []string) int {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
		serveUsage(os.Stdout)
		return service.Done
	}
	if len(args) != 1 {
		fmt.Fprintf(os.Stderr, "stone serve: give one APPLICATION/SERVICE, not %d arguments; see 'stone serve --help'\n", len(args))
		return service.BadInput
	}
	application, name, _ := strings.Cut(args[0], "/")
	definition, known := applications[application][name]
	if !known {
		fmt.Fprintf(os.Stderr, "stone serve: no service %q; 'stone serve --help' lists them\n", args[0])
		return service.BadInput
	}
	// A service's heap is a few megabytes, so that by Go's default it would collect garbage dozens of
	// times a second; this costs about 8 MB under load and spares a good part of that.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return service.Run(ctx, args[0], definition, os.Getenv, os.Stderr)
}

func serveUsage(out io.Writer) {
	fmt.Fprint(out, `usage: stone serve APPLICATION/SERVICE

Runs one service until SIGTERM or SIGINT. The environment configures it:

  STONE_LISTEN=host:port           where it listens
  STONE_ADMIN=host:port            HTTP with /healthz and /readyz (optional)
  STONE_NEED_<NAME>=host:port,...  where a need is: a service's replicas, a cache's servers
  STONE_NEED_<NAME>=file:/path     a file that lists a service's replicas, read again every second
  STONE_DOCUMENTS=URL              its store: postgres://user@host:port/database, or of documents also mongodb://user@host:port
  STONE_STORE_PASSWORD=...         the password of each Redis, and of the account that STONE_DOCUMENTS names without one
  STONE_DATA=/folder               where its tasks write files; no other replica may have the same
  STONE_TASK_<NAME>=...            parameters of its tasks: LINPACK=300 (order of the equations; 0: none), SLEEP=50us,
                                   LARGE_FILE=2400000 and SMALL_FILE=140 (bytes), SMALL_ROUNDS=10, SYNC and KEEP (true, false),
                                   SOCKET=rep (or router)
  STONE_SECRET=...                 what signs tokens and sessions, the same for all services of a deployment
  STONE_PROFILE=dsb-quirks         bring back the original's bugs that change performance (optional)
  STONE_DELAY=5ms                  time that is added to every request, 0 to 1m (optional)
  STONE_LOG_LEVEL=info             debug, info, warn or error (optional)
  STONE_TRACES=host:port[,...]     where spans are sent: OTLP over gRPC (optional; else nothing is traced); of several
                                   the trace's id selects one
  STONE_TRACES_SAMPLE=1            share of the requests that begin here which are traced, 0 to 1 (optional)
  STONE_TRACES_INTERVAL=2s         the longest time that a span waits to be sent, 10ms to 1m (optional)
  STONE_REPLICA=rate-2             what spans call this process (optional; else HOSTNAME-PID)
  GOGC=400                         how much the heap may grow between collections, in percent (optional)

Exit codes: 0 stopped by SIGINT or SIGTERM, 1 unexpected, 2 bad configuration.

`)
	for _, application := range slices.Sorted(maps.Keys(applications)) {
		services := applications[application]
		for _, name := range slices.Sorted(maps.Keys(services)) {
			definition := services[name]
			fmt.Fprintf(out, "  %-22s %s\n", application+"/"+name, definition.Summary)
			var variables []string
			for _, need := range definition.Needs {
				variables = append(variables, config.Variable(need))
			}
			if definition.Documents || definition.Tables {
				variables = append(variables, "STONE_DOCUMENTS")
			}
			if definition.Data {
				variables = append(variables, "STONE_DATA")
			}
			for _, task := range definition.Tasks {
				variables = append(variables, task.Variable())
			}
			if definition.Secret {
				variables = append(variables, "STONE_SECRET")
			}
			fmt.Fprintf(out, "  %-22s   needs %s\n", "", strings.Join(variables, " "))
		}
	}
	fmt.Fprint(out, "\nExample: STONE_LISTEN=127.0.0.1:8083 STONE_DOCUMENTS=postgres://postgres@127.0.0.1:5432/postgres stone serve hotel/geo\n")
}
