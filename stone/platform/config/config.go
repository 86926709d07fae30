// Package config reads the environment, which is all that configures a service: processes,
// containers and pods are given the same variables.
package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"loadstone.dev/stone/platform/password"
)

const mostDelay = time.Minute

// FilePrefix is how a need begins whose replicas a file lists: "file:/local/need-geo". Only services can be needed so.
const FilePrefix = "file:"

// Wants says which variables a service cannot do without.
type Wants struct {
	Needs     []string // names of services and caches, e.g. "geo", "memcached-rate"
	Documents bool     // a document store
	Tables    bool     // a store that is PostgreSQL, for tables
	Data      bool     // a folder for files
	Tasks     []Task   // parameters of tasks
	Secret    bool     // the deployment's secret
}

// Config is the validated environment of one service.
type Config struct {
	Listen    string              // host:port of the service itself
	Admin     string              // host:port of /healthz and /readyz; empty: none
	Needs     map[string][]string // by need: addresses (host:port), or one file that lists them
	Documents string              // URL of the store, with its password
	// StorePassword is that of all stores of the deployment, STONE_STORE_PASSWORD; empty where they have none.
	StorePassword string
	Data          string // STONE_DATA, a folder that this replica alone has
	Tasks         Tasks
	Secret        string // STONE_SECRET, which signs tokens and sessions
	Quirks        bool   // STONE_PROFILE=dsb-quirks
	LogLevel      slog.Level
	Traces        Traces
	Delay         time.Duration // STONE_DELAY, added to every request of the service
}

// Error is one variable that is missing or wrong; its text says what to set.
type Error struct{ Variable, Value, Problem, Remedy string }

func (e *Error) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s is not set: %s", e.Variable, e.Remedy)
	}
	return fmt.Sprintf("%s=%q: %s: %s", e.Variable, e.Value, e.Problem, e.Remedy)
}

// Load reads and checks the variables; the first that is wrong is the error (an *Error).
func Load(wants Wants, getenv func(string) string) (Config, error) {
	config := Config{
		Listen:    getenv("STONE_LISTEN"),
		Admin:     getenv("STONE_ADMIN"),
		Documents: getenv("STONE_DOCUMENTS"),
		Needs:     make(map[string][]string),
	}
	if err := checkAddress("STONE_LISTEN", config.Listen); err != nil {
		return config, err
	}
	if config.Admin != "" {
		if err := checkAddress("STONE_ADMIN", config.Admin); err != nil {
			return config, err
		}
	}
	for _, name := range wants.Needs {
		variable := Variable(name)
		value := getenv(variable)
		if path, is := strings.CutPrefix(value, FilePrefix); is {
			if !filepath.IsAbs(path) {
				return config, &Error{variable, value, "not an absolute path", "set it to file:/path or to host:port"}
			}
			config.Needs[name] = []string{value}
			continue
		}
		for address := range strings.SplitSeq(value, ",") {
			address = strings.TrimSpace(address)
			if err := checkAddress(variable, address); err != nil {
				return config, err
			}
			config.Needs[name] = append(config.Needs[name], address)
		}
	}
	if wants.Documents {
		if err := checkStore(config.Documents, "postgres", "mongodb"); err != nil {
			return config, err
		}
	}
	if wants.Tables {
		if err := checkStore(config.Documents, "postgres"); err != nil {
			return config, err
		}
	}
	config.StorePassword = getenv(password.Variable)
	config.Documents = password.In(config.Documents, config.StorePassword)
	if wants.Data {
		config.Data = getenv("STONE_DATA")
		if err := checkData(config.Data); err != nil {
			return config, err
		}
	}
	if wants.Secret {
		if config.Secret = getenv("STONE_SECRET"); config.Secret == "" {
			return config, &Error{"STONE_SECRET", "", "", "set it to the secret of the deployment, the same for all its services"}
		}
	}
	switch profile := getenv("STONE_PROFILE"); profile {
	case "":
	case "dsb-quirks":
		config.Quirks = true
	default:
		return config, &Error{"STONE_PROFILE", profile, "no such profile", "leave it empty or set it to dsb-quirks"}
	}
	if level := getenv("STONE_LOG_LEVEL"); level != "" {
		if err := config.LogLevel.UnmarshalText([]byte(level)); err != nil {
			return config, &Error{"STONE_LOG_LEVEL", level, "no such level", "set it to debug, info, warn or error"}
		}
	}
	var err error
	if config.Traces, err = loadTraces(getenv); err != nil {
		return config, err
	}
	if config.Tasks, err = loadTasks(wants.Tasks, getenv); err != nil {
		return config, err
	}
	if delay := getenv("STONE_DELAY"); delay != "" {
		config.Delay, err = time.ParseDuration(delay)
		if err != nil || config.Delay < 0 || config.Delay > mostDelay {
			return config, &Error{"STONE_DELAY", delay, "no delay", "set it to 0 to 1m, for example 5ms"}
		}
	}
	return config, nil
}

// Variable names the variable that says where a need is: STONE_NEED_MEMCACHED_RATE for memcached-rate.
func Variable(need string) string {
	return "STONE_NEED_" + strings.ToUpper(strings.ReplaceAll(need, "-", "_"))
}

func checkAddress(variable, value string) error {
	const remedy = "set it to host:port, for example 127.0.0.1:8083"
	if value == "" {
		return &Error{variable, "", "", remedy}
	}
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return &Error{variable, value, "not host:port", remedy}
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return &Error{variable, value, "port is not a number from 0 to 65535", remedy}
	}
	return nil
}

// stores are the schemes of a store's URL by what the store is.
var stores = map[string][]string{"postgres": {"postgres", "postgresql"}, "mongodb": {"mongodb", "mongodb+srv"}}

func checkStore(value string, kinds ...string) error {
	remedy := "set it to postgres://user@host:port/database"
	if slices.Contains(kinds, "mongodb") {
		remedy += " or mongodb://user@host:port"
	}
	if value == "" {
		return &Error{"STONE_DOCUMENTS", "", "", remedy}
	}
	// The value may hold a password, so an error shows no more than its scheme.
	parsed, err := url.Parse(value)
	if err != nil || parsed.Host == "" {
		return &Error{"STONE_DOCUMENTS", "(not shown)", "not the URL of a store", remedy}
	}
	for _, kind := range kinds {
		if slices.Contains(stores[kind], parsed.Scheme) {
			return nil
		}
	}
	return &Error{"STONE_DOCUMENTS", parsed.Scheme + "://...", "no such store", remedy}
}
