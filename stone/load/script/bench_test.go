package script

import "testing"

// The scripts are of the kinds that are published; static is the cost of the loop around them.
func BenchmarkNext(b *testing.B) {
	for _, script := range []string{
		"static", "social-read-home-timeline", "hotel-mixed-workload", "social-mixed-workload", "media-compose-review",
		"social-compose-post",
	} {
		b.Run(script, func(b *testing.B) {
			s := opened(b, Options{Path: "testdata/" + script + ".lua", Seed: 1})
			var to []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if to, _, _, err = s.Next(to[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResponse(b *testing.B) {
	s := from(b, Options{}, `seen = 0  function response(status, headers, body) seen = seen + #body end`)
	head := []byte("Content-Type: application/json\r\nContent-Length: 100\r\nServer: x\r\n")
	body := make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Response(200, head, body); err != nil {
			b.Fatal(err)
		}
	}
}
