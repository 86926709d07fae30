// Package script runs load scripts written for wrk and wrk2 (Lua 5.1 as LuaJIT speaks it) without changes to them.
//
// Each load thread has a Script with a Lua state of its own (machine.go); setup() and done() run in one more state
// that all threads share, as in wrk. Next calls delay() and request() for one HTTP request at a time (next.go,
// request.go), Response hands an answer to response(), Done the results to done(). Random numbers come from the
// plan's seed (random.go), so the same plan makes the same requests. A mistake in a script, or a script that does
// not come to an end, is an *Error that names the file and the line.
package script

import (
	"errors"
	"io"
	"os"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Options name the script to run, its target and its thread.
type Options struct {
	Path               string            // the script's file
	Args               []string          // args[1] and on of init(args); args[0] is the URL
	Env                map[string]string // what os.getenv finds
	Results            string            // the folder that the script may write in; empty: none
	Seed               uint64            // seeds math.random, together with Thread
	Thread             int               // number of the load thread, 0 for the first; unlike in all other threads of the run
	Scheme, Host, Port string            // parts of the URL; Port may be empty
	URLPath            string            // path of the URL: wrk.path ("/" when empty)
	Addresses          []string          // host:port of all that is loaded: wrk.addrs; the script cannot choose others
	Output             io.Writer         // where print and io.write go; os.Stderr when nil

	// First is the script of the first thread, nil for that one itself. All threads share its state for setup() and
	// done(), and setup() sees them in the order in which they are opened.
	First *Script

	deadline time.Duration // bounds one call into Lua
	memory   uint64        // bytes that the heap may grow by during one call
}

// Script is one load thread's script. It is for one goroutine at a time.
type Script struct {
	thread  *machine
	common  *common
	names   operations
	static  string // what every request is, when the script has no request()
	rest    string // requests that request() returned together and that are still to be delivered
	address string // thread.addr, once the script has set it
	running bool   // init() is over
	stopped bool   // the script called thread:stop()
}

// common is what the threads of a run share.
type common struct {
	program *lua.FunctionProto
	main    *machine // where setup() and done() run; nil if the script has neither
}

// ErrStopped is what Next returns once the script has called thread:stop().
var ErrStopped = errors.New("the script stopped its thread")

const maxSource = 16 << 20 // bytes of a script's text

// Open loads the script and runs setup() and init() for one thread. Errors are *Error.
func Open(o Options) (*Script, error) {
	source := ""
	if o.First == nil {
		text, err := os.ReadFile(o.Path)
		switch {
		case err != nil:
			return nil, &Error{Path: o.Path, Message: "cannot read the script: " + reason(err)}
		case len(text) > maxSource:
			return nil, &Error{Path: o.Path, Message: "larger than 16 MiB; keep data in a file of its own and read it with io.open"}
		}
		source = string(text)
	}
	return open(o, source)
}

func open(o Options, source string) (*Script, error) {
	if o.Output == nil {
		o.Output = os.Stderr
	}
	if o.URLPath == "" {
		o.URLPath = "/"
	}
	if o.deadline == 0 {
		o.deadline = 10 * time.Second
	}
	if o.memory == 0 {
		o.memory = 1 << 30
	}
	s := &Script{thread: newMachine(&o, uint64(o.Thread)+1)}
	err := s.load(&o, source)
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// load goes through the phases in wrk's order: the file, setup() in the common state, init() in the thread's own.
func (s *Script) load(o *Options, source string) error {
	if o.First != nil {
		s.common = o.First.common
	} else {
		program, err := s.thread.compile(source, o.Path)
		if err != nil {
			return err
		}
		s.common = &common{program: program}
	}
	s.thread.openWrk(s)
	if err := s.thread.run(s.common.program); err != nil {
		return err
	}
	if s.common.main == nil && (s.thread.hook("setup") != nil || s.thread.hook("done") != nil) {
		s.common.main = newMachine(o, 0)
		s.common.main.openWrk(nil)
		if err := s.common.main.run(s.common.program); err != nil {
			return err
		}
	}
	if main := s.common.main; main != nil {
		if err := main.call("setup", main.wrk.RawGetString("setup"), 0, main.newThread(s)); err != nil {
			return err
		}
	}
	if err := s.thread.call("init", s.thread.wrk.RawGetString("init"), 0, s.thread.arguments()); err != nil {
		return err
	}
	s.running = true
	if s.thread.hook("request") != nil {
		return nil
	}
	var err error
	s.static, err = s.request()
	return err
}

// HasResponse says whether the script has a response(), which has to see every answer.
func (s *Script) HasResponse() bool { return s.thread.hook("response") != nil }

// HasDone says whether the script has a done(); one Done for all threads is enough.
func (s *Script) HasDone() bool { return s.common.main != nil && s.common.main.hook("done") != nil }

// Close ends the thread's state; closing the first thread's script ends the one that all share.
func (s *Script) Close() {
	s.thread.state.Close()
	if s.common != nil && s.common.main != nil && s.common.main.options.Thread == s.thread.options.Thread {
		s.common.main.state.Close()
	}
}
