package transport

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every mistake in the settings is named, with its value and what to write instead.
func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty, text := filepath.Join(dir, "empty"), filepath.Join(dir, "text")
	write(t, empty, nil)
	write(t, text, []byte("syntax = proto3"))
	good := func(change func(*Settings)) Settings {
		s := Settings{Protocol: HTTP1, Target: "https://127.0.0.1:1", Timeout: time.Second}
		change(&s)
		return s
	}
	for want, settings := range map[string]Settings{
		"": good(func(*Settings) {}),
		`protocol: "spdy" is not known; give one of http/1.1, http/2, grpc, zmq`:   good(func(s *Settings) { s.Protocol = "spdy" }),
		`target: "ftp://x" is no address; give one such as https://127.0.0.1:8443`: good(func(s *Settings) { s.Target = "ftp://x" }),
		`target: "" is no address; give one such as https://127.0.0.1:8443`:        good(func(s *Settings) { s.Target = "" }),
		`timeout: 0s is not above 0`: good(func(s *Settings) { s.Timeout = 0 }),
		`tls: the target is http://; leave tls out, or give an https:// target`:                                                                    good(func(s *Settings) { s.Target, s.TLS.Insecure = "http://x", true }),
		`protocol: http/2 keeps its connections; only http/1.1 has a new one for each call`:                                                        good(func(s *Settings) { s.Protocol, s.NewPerRequest = HTTP2, true }),
		`descriptors: http/1.1 has none; leave them out, or give protocol grpc`:                                                                    good(func(s *Settings) { s.Descriptors = empty }),
		`tls.ca: cannot read the authorities' certificates: open /none: no such file or directory`:                                                 good(func(s *Settings) { s.TLS.CA = "/none" }),
		`tls.ca: ` + empty + ` holds no certificate; give a PEM file`:                                                                              good(func(s *Settings) { s.TLS.CA = empty }),
		`descriptors: cannot read them: open /none: no such file or directory`:                                                                     good(func(s *Settings) { s.Protocol, s.Descriptors = GRPC, "/none" }),
		`descriptors: ` + empty + ` is no FileDescriptorSet; make one with protoc --include_imports --descriptor_set_out=` + empty + ` FILE.proto`: good(func(s *Settings) { s.Protocol, s.Descriptors = GRPC, empty }),
		`descriptors: ` + text + ` is no FileDescriptorSet; make one with protoc --include_imports --descriptor_set_out=` + text + ` FILE.proto`:   good(func(s *Settings) { s.Protocol, s.Descriptors = GRPC, text }),
	} {
		_, err := New(settings)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A memo keeps what fits into it, and makes the rest each time.
func TestMemo(t *testing.T) {
	t.Parallel()
	var m memo[int]
	made := 0
	length := func(text []byte) (int, error) {
		made++
		return len(text), nil
	}
	long := strings.Repeat("x", memoBytes+1)
	for _, text := range []string{"ab", "ab", long, long, "ab"} {
		if n, err := m.get([]byte(text), length); n != len(text) || err != nil {
			t.Errorf("%d for %d", n, len(text))
		}
	}
	if made != 3 {
		t.Errorf("made %d times", made)
	}
	for i := range 2 * memoMost {
		_, _ = m.get([]byte(strings.Repeat("y", i%1000)+string(rune(i))), length)
	}
	if len(m.made) > memoMost {
		t.Errorf("holds %d", len(m.made))
	}
}

// Whatever a script hands over is a request or an error; what is a request says the same when it is written again.
func FuzzReadHead(f *testing.F) {
	f.Add(render("POST", "/a?b=c", "body", "X: y", "Empty:"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.1\r\nX\r\n\r\n"))
	f.Fuzz(func(t *testing.T, request []byte) {
		method, path, lines, body, err := readHead(request)
		if err != nil {
			return
		}
		again := method + " " + path + " HTTP/1.1\r\n"
		for _, line := range lines {
			again += line.name + ":" + line.value + "\r\n"
		}
		again += "\r\n" + string(body)
		method2, path2, lines2, body2, err := readHead([]byte(again))
		if err != nil || method2 != method || path2 != path || len(lines2) != len(lines) || string(body2) != string(body) {
			t.Fatalf("%q became %q: %v", request, again, err)
		}
		for i, line := range lines {
			if lines2[i] != line {
				t.Fatalf("%q became %q", line, lines2[i])
			}
		}
	})
}

// Any bytes of a server are an answer or an error of one of few kinds, within the requested memory.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200 OK\r\n\r\nok"))
	known := map[Error]bool{noAnswer: true, cut: true, malformed: true, badBody: true, longHead: true, upgrade: true}
	f.Fuzz(func(t *testing.T, text []byte) {
		l := overBytes(text)
		answer, _, err := l.receive(get("/"), 16)
		if err != nil && !known[KindOf(err)] {
			t.Errorf("%q: %v", text, err)
		}
		if len(answer.Body) > 16 || answer.Size > int64(len(text)) || err == nil && (answer.Status < 200 || answer.Status > 999) {
			t.Errorf("%q: %+v", text, answer)
		}
	})
}
