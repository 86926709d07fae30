package tracetest

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Tree is the one trace that some spans are; it fails the test unless they are that: one root, and of every other span its
// parent: of a server the call to its service, of a call and of what is internal the server that does it.
func Tree(t testing.TB, spans []Span) Branch {
	t.Helper()
	byID := make(map[string]Span)
	for _, one := range spans {
		byID[one.ID] = one
	}
	children := make(map[string][]Span)
	for _, one := range spans {
		children[one.Parent] = append(children[one.Parent], one)
		parent, is := byID[one.Parent]
		switch {
		case one.Parent == "":
		case !is:
			t.Errorf("%s is of a parent that did not come", one)
		case one.Trace != parent.Trace:
			t.Errorf("%s is of another trace than %s", one, parent)
		case one.Kind == otlp.Span_SPAN_KIND_SERVER && one.Service != parent.Peer:
			t.Errorf("%s was called by %s", one, parent)
		case one.Kind != otlp.Span_SPAN_KIND_SERVER && (one.Instance != parent.Instance || parent.Kind != otlp.Span_SPAN_KIND_SERVER):
			t.Errorf("%s is within %s", one, parent)
		}
	}
	if roots := children[""]; len(roots) != 1 || len(byID) != len(spans) {
		t.Fatalf("%d spans with %d ids and roots %v", len(spans), len(byID), roots)
	}
	return grow(children[""][0], children)
}

func grow(root Span, children map[string][]Span) Branch {
	branch := Branch{Span: root}
	for _, one := range children[root.ID] {
		branch.Within = append(branch.Within, grow(one, children))
	}
	slices.SortFunc(branch.Within, func(a, b Branch) int { return cmp.Compare(a.String(), b.String()) })
	return branch
}

// Branch is a span and those within it, by their text.
type Branch struct {
	Span
	Within []Branch
}

// String is the branch as lines, indented.
func (b Branch) String() string {
	var text strings.Builder
	b.write(&text, "")
	return text.String()
}

func (b Branch) write(text *strings.Builder, indent string) {
	text.WriteString(indent + b.Span.String() + "\n")
	for _, one := range b.Within {
		one.write(text, indent+"  ")
	}
}

// Calls are the different pairs "service > peer" of a branch, sorted.
func (b Branch) Calls() []string {
	var calls []string
	if b.Kind == otlp.Span_SPAN_KIND_CLIENT {
		calls = append(calls, b.Service+" > "+b.Peer)
	}
	for _, one := range b.Within {
		calls = append(calls, one.Calls()...)
	}
	slices.Sort(calls)
	return slices.Compact(calls)
}

// Request waits for a whole trace with a root of this name that it has not returned yet, and returns it: every call to a
// service has its answer, so that nothing more can come.
func (c *Collector) Request(t testing.TB, root string) Branch {
	t.Helper()
	var found []Span
	c.Wait(t, "a whole request "+root, func(spans []Span) bool {
		for _, one := range spans {
			if one.Parent == "" && one.Name == root && !c.returned[one.Trace] {
				found = slices.DeleteFunc(slices.Clone(spans), func(other Span) bool { return other.Trace != one.Trace })
				return whole(found)
			}
		}
		return false
	})
	c.returned[found[0].Trace] = true
	return Tree(t, found)
}

func whole(spans []Span) bool {
	served := make(map[string]bool)
	for _, one := range spans {
		served[one.Parent] = served[one.Parent] || one.Kind == otlp.Span_SPAN_KIND_SERVER
	}
	return !slices.ContainsFunc(spans, func(one Span) bool {
		return one.Kind == otlp.Span_SPAN_KIND_CLIENT && !isStore(one.Peer) && !served[one.ID]
	})
}

func isStore(need string) bool {
	kind, _, _ := strings.Cut(need, "-")
	return slices.Contains([]string{"memcached", "redis", "documents", "postgres"}, kind)
}
