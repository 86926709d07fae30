package servertest_test

import (
	"bufio"
	"net"
	"net/url"
	"testing"

	"loadstone.dev/stone/platform/servertest"
)

// Each server answers while its test runs and is gone afterwards.
func TestServersStartAndStop(t *testing.T) {
	for name, example := range map[string]struct {
		start     func(testing.TB) string
		ask, want string
	}{
		"memcached": {servertest.Memcached, "mn\r\n", "MN\r\n"},
		"redis":     {servertest.Redis, "PING\r\n", "+PONG\r\n"},
		"nginx":     {nginx, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n"},
		"postgres":  {servertest.Postgres, "", ""},
		"mongo":     {servertest.Mongo, "", ""},
	} {
		var address string
		t.Run(name, func(t *testing.T) {
			address = example.start(t)
			if parsed, err := url.Parse(address); err == nil && parsed.Host != "" {
				address = parsed.Host
			}
			connection, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = connection.Close() }()
			if example.ask == "" {
				return
			}
			if _, err := connection.Write([]byte(example.ask)); err != nil {
				t.Fatal(err)
			}
			if answer, err := bufio.NewReader(connection).ReadString('\n'); answer != example.want {
				t.Errorf("answer %q, %v; want %q", answer, err, example.want)
			}
		})
		if connection, err := net.Dial("tcp", address); address != "" && err == nil {
			_ = connection.Close()
			t.Errorf("%s still serves after its test", name)
		}
	}
}

func nginx(t testing.TB) string {
	return servertest.Nginx(t, "", `location / { return 200 "ok"; }`, nil)
}
