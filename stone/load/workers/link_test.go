package workers

import (
	"context"
	"net"
	"testing"
	"time"
)

// Whatever a stranger sends, a worker takes no plan from it and neither crashes nor hangs.
func FuzzStranger(f *testing.F) {
	f.Add([]byte(`{"kind":"proof","nonce":"AAAA","proof":"AAAA"}` + "\n" + `{"kind":"plan","plan":{}}` + "\n"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0, '\n', '"', 0xff})
	f.Fuzz(func(t *testing.T, sent []byte) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			l := newLink(theirs)
			_, _ = l.receive(0)
			_, _ = theirs.Write(sent)
		}()
		_ = ours.SetDeadline(time.Now().Add(time.Minute))
		if err := serve(context.Background(), newLink(ours), "a secret", make(chan struct{}, 1)); err == nil {
			t.Errorf("%q was admitted", sent)
		}
		_ = ours.Close()
	})
}
