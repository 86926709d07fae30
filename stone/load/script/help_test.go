package script

import (
	"bytes"
	"testing"
	"time"
)

// from opens a script's text as test.lua, for http://localhost:8080.
func from(t testing.TB, o Options, source string) *Script {
	t.Helper()
	s, err := try(t, o, source)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func try(t testing.TB, o Options, source string) (*Script, error) {
	t.Helper()
	if o.Path == "" {
		o.Path = "test.lua"
	}
	return closing(t, filled(o), func(o Options) (*Script, error) { return open(o, source) })
}

// opened opens a script's file.
func opened(t testing.TB, o Options) *Script {
	t.Helper()
	s, err := closing(t, filled(o), Open)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func filled(o Options) Options {
	if o.Host == "" {
		o.Scheme, o.Host, o.Port = "http", "localhost", "8080"
	}
	if o.Output == nil {
		o.Output = &bytes.Buffer{}
	}
	if o.deadline == 0 {
		o.deadline = time.Hour // a busy machine ends no script
	}
	return o
}

func closing(t testing.TB, o Options, open func(Options) (*Script, error)) (*Script, error) {
	s, err := open(o)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

// next is the script's next request and the name of its operation.
func next(t testing.TB, s *Script) (request, operation string) {
	t.Helper()
	made, operation, _, err := s.Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(made), operation
}
