package tuning

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Offer is a knob that a host has, with what it can be set to, in words.
type Offer struct {
	Knob   string `json:"knob"`
	Offers string `json:"offers"`
}

// Problem is a knob that a host lacks, or a value that it does not take.
type Problem struct {
	Knob    string `json:"knob"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

func (p Problem) asError() *Error {
	return &Error{p.Kind, "tuning." + p.Knob + ": " + p.Message, p.Remedy}
}

// Offers are the knobs that this host has.
func Offers(h Host) []Offer {
	offers := []Offer{}
	for _, k := range knobs {
		if _, there := k.files(h); there {
			offers = append(offers, Offer{k.about().key, k.offers(h)})
		}
	}
	return offers
}

// Check is what of a tuning this host lacks or does not take; it changes nothing.
func Check(h Host, tuning Tuning) []Problem {
	problems := []Problem{}
	for _, k := range wanted(tuning) {
		if problem := check(h, k, tuning); problem != nil {
			problem.Knob = k.about().key
			problems = append(problems, *problem)
		}
	}
	return problems
}

func check(h Host, k knob, tuning Tuning) *Problem {
	if _, there := k.files(h); !there {
		return &Problem{
			Kind: Missing, Message: "this machine has no " + k.about().needs,
			Remedy: "leave it out; knobs that it has: " + keys(Offers(h)),
		}
	}
	values, err := k.values(h, tuning)
	var refusal *Error
	if errors.As(err, &refusal) {
		return &Problem{Kind: refusal.Kind, Message: refusal.Message, Remedy: refusal.Remedy}
	}
	closed := slices.IndexFunc(values, func(v value) bool { return !k.writable(h, v.file) })
	switch {
	case closed < 0:
		return nil
	case h.kernel.root():
		return &Problem{
			Kind:    Refused,
			Message: fmt.Sprintf("%s cannot be written, not even by root: it is mounted read-only, as in containers", values[closed].file),
			Remedy:  "run it on the machine itself, or leave it out",
		}
	}
	return &Problem{
		Kind: Refused, Message: "only root may write " + values[closed].file, Remedy: "use sudo, or leave it out",
	}
}

func keys(offers []Offer) string {
	var names []string
	for _, offer := range offers {
		names = append(names, offer.Knob)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
