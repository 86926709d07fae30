package transport

import (
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/platform/servertest"
)

// nginx as it stands before many applications: TLS, HTTP/2 by ALPN and without TLS, and connections that it closes
// after some requests, over HTTP/2 with GOAWAY.
func TestNginx(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	certificate, key := ca.files(t)
	files := map[string][]byte{"cert.pem": read(t, certificate), "key.pem": read(t, key), "large": make([]byte, 3<<20)}
	const server = `ssl_certificate cert.pem; ssl_certificate_key key.pem; keepalive_requests 40; http2_max_concurrent_streams 8;
		root .; location / { return 200 "$request_method $request_uri $host $server_protocol $connection"; } location /large {}`
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			listening := map[string]string{"h1 over TLS": "ssl", "h2c": "http2", "h2": "ssl http2"}[k.name]
			directives := server
			if k.scheme == "http" {
				directives = strings.SplitN(server, "; ", 3)[2]
			}
			address := servertest.Nginx(t, listening, directives, files)
			settings := Settings{Protocol: k.protocol, Target: k.scheme + "://" + address, Timeout: patience, Limit: 100}
			if k.scheme == "https" {
				settings.TLS.CA = ca.file
			}
			caller := dial(t, settings, address)
			version := map[string]string{HTTP1: "HTTP/1.1", HTTP2: "HTTP/2.0"}[k.protocol]
			answer := ask(t, caller, get("/a?b=c"))
			if !strings.HasPrefix(string(answer.Body), "GET /a?b=c example.test "+version+" ") {
				t.Errorf("%q", answer.Body)
			}
			if answer := ask(t, caller, get("/large")); answer.Size != 3<<20 || len(answer.Body) != 100 {
				t.Errorf("%d bytes, kept %d", answer.Size, len(answer.Body))
			}
			var seen sync.Map // the numbers of connections
			var group sync.WaitGroup
			for range 10 {
				group.Go(func() {
					for range 50 {
						answer, err := within(t, caller, patience, get("/"))
						if err != nil || answer.Status != 200 {
							t.Errorf("%d %v: %s", answer.Status, err, answer.Detail)
						}
						seen.Store(string(answer.Body), true)
					}
				})
			}
			group.Wait()
			connections := 0
			seen.Range(func(any, any) bool { connections++; return true })
			if least := 502 / 40; connections < least || connections > 2*least { // those that GOAWAY met have carried fewer
				t.Errorf("%d connections", connections)
			}
		})
	}
}
