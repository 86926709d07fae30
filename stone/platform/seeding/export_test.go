package seeding

import "io"

// ProgressTo tells it to a writer.
func ProgressTo(out io.Writer) *Progress { return &Progress{out: out} }
