package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const nginxConfiguration = `daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events { worker_connections 256; }
http { access_log off; default_type text/plain;
  client_body_temp_path 1; proxy_temp_path 2; fastcgi_temp_path 3; uwsgi_temp_path 4; scgi_temp_path 5;
  server { listen 127.0.0.1:%s %s; %s }
}
`

// Nginx starts an nginx of one server and returns its host:port. `listening` are options of its listen directive,
// such as "ssl http2", `server` are its other directives; files stand in the folder that its paths begin at.
func Nginx(t testing.TB, listening, server string, files map[string][]byte) string {
	t.Helper()
	program := installed(t, "nginx", "nginx")
	dir := folder(t, "nobody")
	put := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatalf("servertest: %v", err)
		}
	}
	for name, text := range files {
		put(name, text)
	}
	return start(t, "nobody", syscall.SIGINT, accepts, func(port string) *exec.Cmd {
		put("nginx.conf", fmt.Appendf(nil, nginxConfiguration, port, listening, server))
		return exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "stderr")
	})
}
