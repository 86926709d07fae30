package tuning

import "slices"

// knob is one key of a Tuning. It keeps nothing: all state is the host's and the journal's.
type knob interface {
	about() traits
	// wants is whether a tuning sets it.
	wants(Tuning) bool
	// files are all that it sets, or that change along with that, and that the host has now; false where the host does
	// not have the knob at all.
	files(Host) ([]string, bool)
	// offers describes the values that a host with this knob accepts.
	offers(Host) string
	// values are what to write for a tuning that sets it; an *Error where the host does not take that.
	values(Host, Tuning) ([]value, error)
	// order is in which order to write these: the kernel refuses some steps in between.
	order(Host, []value) []value
	// read is the value in force; false where there is none any more.
	read(Host, string) (string, bool)
	write(Host, string, string) error
	// writable is whether we can, before it is tried.
	writable(Host, string) bool
}

type traits struct {
	key      string
	needs    string   // what the kernel must have for it, with the place, in words
	disturbs []string // knobs whose values the kernel changes along with this one's
	yields   bool     // values that the kernel does not let go are left as they are, and reported; else they are an error
}

// value is one file's text.
type value struct{ file, text string }

// knobs are in the order in which they are set and set back: a knob comes before those that it disturbs.
var knobs = []knob{
	smt{}, turbo{}, governor{}, frequency, cstates{}, uncore, hugePages{}, numaBalancing{}, swap{}, interrupts{},
}

// wanted are the knobs that a tuning sets.
func wanted(tuning Tuning) []knob {
	return slices.DeleteFunc(slices.Clone(knobs), func(k knob) bool { return !k.wants(tuning) })
}

// touched are the knobs whose values may be others afterwards: those that are set, and what they disturb.
func touched(tuning Tuning) []knob {
	var keys []string
	for _, k := range wanted(tuning) {
		keys = append(append(keys, k.about().key), k.about().disturbs...)
	}
	return slices.DeleteFunc(slices.Clone(knobs), func(k knob) bool { return !slices.Contains(keys, k.about().key) })
}

// plain is what most knobs have in common: values that are files, set by writing into them, in any order.
type plain struct{}

func (plain) order(_ Host, values []value) []value { return values }

func (plain) read(h Host, file string) (string, bool) { return h.read(file) }

func (plain) write(h Host, file, text string) error { return h.kernel.write(file, text) }

func (plain) writable(h Host, file string) bool { return h.kernel.writable(file) }

// has is what files returns of a knob that is there where any of its files is.
func has(files []string) ([]string, bool) { return files, len(files) > 0 }

// each gives all files the same text.
func each(files []string, text string) []value {
	values := make([]value, len(files))
	for i, file := range files {
		values[i] = value{file, text}
	}
	return values
}
