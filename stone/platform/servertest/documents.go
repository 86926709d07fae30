package servertest

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Postgres starts an empty PostgreSQL and returns its postgres:// URL.
func Postgres(t testing.TB) string {
	t.Helper()
	binaries := postgresBinaries(t)
	data := filepath.Join(folder(t, "postgres"), "data")
	if output, err := exec.Command("cp", "-a", cluster(t, binaries), data).CombinedOutput(); err != nil {
		t.Fatalf("servertest: copy a database cluster: %v\n%s", err, output)
	}
	// It listens before it serves: ask its own tool.
	ready := func(port string) bool {
		return accepts(port) && exec.Command(filepath.Join(binaries, "pg_isready"), "-q", "-U", "postgres", "-h", "127.0.0.1", "-p", port).Run() == nil
	}
	address := start(t, "postgres", syscall.SIGQUIT, ready, func(port string) *exec.Cmd {
		return exec.Command(filepath.Join(binaries, "postgres"), "-D", data, "-p", port,
			"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off")
	})
	return "postgres://postgres@" + address + "/postgres?sslmode=disable"
}

// cluster is the folder of an empty database cluster, made once for each version and its arguments: a copy takes a tenth of the time.
func cluster(t testing.TB, binaries string) string {
	t.Helper()
	version, err := exec.Command(filepath.Join(binaries, "postgres"), "--version").Output()
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	arguments := []string{"-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	cached := ""
	if cache, err := os.UserCacheDir(); err == nil {
		cached = filepath.Join(cache, "loadstone", fmt.Sprintf("database-cluster-%x", sha256.Sum256(fmt.Append(version, arguments)))[:33])
		if _, err := os.Stat(cached); err == nil {
			return cached
		}
	}
	made := filepath.Join(folder(t, "postgres"), "data")
	initialise := exec.Command(filepath.Join(binaries, "initdb"), append(arguments, "-D", made)...)
	initialise.Dir = "/"
	become(t, initialise, "postgres")
	if output, err := initialise.CombinedOutput(); err != nil {
		t.Fatalf("servertest: initdb: %v\n%s", err, output)
	}
	return keep(made, cached)
}

// keep puts a copy of a folder into the cache, whole or not at all, and returns what can be used: another test may have
// been faster, and a cache that cannot be written is done without.
func keep(made, cached string) string {
	if cached == "" {
		return made
	}
	partial := fmt.Sprintf("%s.%d", cached, os.Getpid())
	defer func() { _ = os.RemoveAll(partial) }()
	if os.MkdirAll(filepath.Dir(cached), 0o700) != nil || exec.Command("cp", "-a", made, partial).Run() != nil {
		return made
	}
	if os.Rename(partial, cached) != nil {
		return made
	}
	return cached
}

// postgresBinaries is the newest installed version's folder: the distribution keeps it off the PATH.
func postgresBinaries(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return filepath.Dir(installed(t, "postgres", "postgresql"))
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1])
}

//go:embed mongo-stand-in
var mongoStandIn embed.FS

// Mongo starts a mongod if there is one, else the stand-in for its wire protocol (in memory, for
// tests only), and returns its mongodb:// URL. The stand-in is fetched on first use.
func Mongo(t testing.TB) string {
	t.Helper()
	var address string
	if mongod, err := exec.LookPath("mongod"); err == nil {
		data := folder(t, "nobody")
		address = start(t, "nobody", syscall.SIGINT, accepts, func(port string) *exec.Cmd {
			return exec.Command(mongod, "--bind_ip", "127.0.0.1", "--port", port, "--dbpath", data)
		})
	} else {
		source := standIn(t)
		address = start(t, "nobody", syscall.SIGKILL, accepts, func(port string) *exec.Cmd {
			return exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", source+"/*", filepath.Join(source, "MongoStandIn.java"), port)
		})
	}
	return (&url.URL{Scheme: "mongodb", Host: address}).String()
}

// standIn returns a folder with the stand-in's source and jars that any account can read.
func standIn(t testing.TB) string {
	t.Helper()
	for _, tool := range []string{"java", "javac", "mvn"} {
		installed(t, tool, "mongod, or a JDK and Maven for its stand-in")
	}
	readable := folder(t, "nobody")
	source := filepath.Join(readable, "mongo-stand-in")
	if err := os.CopyFS(readable, mongoStandIn); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	fetch := exec.Command("sh", filepath.Join(source, "fetch.sh"))
	var complaints strings.Builder
	fetch.Stderr = &complaints
	output, err := fetch.Output()
	if err != nil {
		t.Fatalf("servertest: fetch the stand-in for MongoDB: %v\n%s", err, complaints.String())
	}
	// A copy, because the cache lies in a home folder, closed to others.
	if err := os.CopyFS(source, os.DirFS(strings.TrimSpace(string(output)))); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	return source
}
