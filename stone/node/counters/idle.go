package counters

import (
	"errors"
	"path/filepath"
)

// idleStates reads cpuidle: how long and how often each processor was in each of its idle states (C-states).
type idleStates struct{ states []idleState }

type idleState struct {
	subject        string
	time, entrance *kernelFile
}

func openIdleStates(h *Host) (collector, error) {
	pattern := filepath.Join(h.roots.Sys, "devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*")
	found, _ := filepath.Glob(pattern) // fails only if the pattern is bad
	if len(found) == 0 {
		return nil, errors.New("no " + pattern + ": the kernel chooses no idle states here, as in most virtual machines")
	}
	s := &idleStates{}
	for _, folder := range found {
		name, err := read(folder, "name")
		if err != nil {
			s.close()
			return nil, err
		}
		state := idleState{subject: cpuSubject(filepath.Dir(filepath.Dir(folder))) + "/" + name}
		state.time, err = openFile(filepath.Join(folder, "time"))
		if err == nil {
			state.entrance, err = openFile(filepath.Join(folder, "usage"))
		}
		s.states = append(s.states, state)
		if err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *idleStates) read(r *reading) error {
	for i := range s.states {
		state := &s.states[i]
		microseconds, err := r.number(state.time)
		if err != nil {
			return err
		}
		entrances, err := r.number(state.entrance)
		if err != nil {
			return err
		}
		r.put(state.subject, "cstate_seconds_total", float64(microseconds)/1e6)
		r.put(state.subject, "cstate_transitions_total", float64(entrances))
	}
	return nil
}

func (s *idleStates) close() {
	for _, state := range s.states {
		closeAll(state.time, state.entrance)
	}
}
