package tuning

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// cstates: each idle state of each processor can be disabled.
type cstates struct{ plain }

// idleState is a state's name and its exit latency in microseconds; the longest, where processors differ.
type idleState struct {
	name    string
	latency int
}

func (cstates) about() traits {
	return traits{key: "cstates", needs: "idle states (cpu*/cpuidle/state*)"}
}

func (cstates) wants(tuning Tuning) bool { return tuning.CStates != nil }

func (cstates) files(h Host) ([]string, bool) {
	return has(h.answering(numbered(h.cpu("cpu[0-9]*/cpuidle/state*/disable"))...))
}

func (c cstates) offers(h Host) string {
	var offered []string
	for _, state := range c.states(h) {
		offered = append(offered, fmt.Sprintf("%s (%dus)", state.name, state.latency))
	}
	return strings.Join(offered, ", ")
}

func (c cstates) values(h Host, tuning Tuning) ([]value, error) {
	states := c.states(h)
	allowed := slices.Clone(tuning.CStates.Names)
	for _, name := range allowed {
		if !slices.ContainsFunc(states, func(state idleState) bool { return state.name == name }) {
			return nil, refused("choose of: "+c.offers(h)+"; C0 is no idle state, it is to run",
				"%s: no idle state is called '%s'", h.cpu(), name)
		}
	}
	if longest := tuning.CStates.Latency; longest != nil {
		for _, state := range states {
			if float64(state.latency) <= *longest*1e6+1e-6 { // both are whole microseconds
				allowed = append(allowed, state.name)
			}
		}
	}
	files, _ := c.files(h)
	values := each(files, "1")
	for i, file := range files {
		if slices.Contains(allowed, stateName(h, file)) {
			values[i].text = "0"
		}
	}
	return values, nil
}

// states are in the order of depth.
func (c cstates) states(h Host) []idleState {
	var states []idleState
	files, _ := c.files(h)
	for _, file := range files {
		latency, _ := h.number(filepath.Join(filepath.Dir(file), "latency"))
		name := stateName(h, file)
		at := slices.IndexFunc(states, func(state idleState) bool { return state.name == name })
		if at < 0 {
			states = append(states, idleState{name, latency})
		} else {
			states[at].latency = max(states[at].latency, latency)
		}
	}
	return states
}

func stateName(h Host, disable string) string {
	folder := filepath.Dir(disable)
	if name, _ := h.read(filepath.Join(folder, "name")); name != "" {
		return name
	}
	return filepath.Base(folder)
}
