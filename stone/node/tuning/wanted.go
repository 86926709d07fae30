package tuning

// Tuning is what a study sets; what is nil is not changed.
type Tuning struct {
	Governor      string      `json:"governor,omitempty"`
	Frequency     *Bounds     `json:"frequency,omitempty"`
	Turbo         string      `json:"turbo,omitempty"` // on, off; so are the other switches
	SMT           string      `json:"smt,omitempty"`
	CStates       *IdleStates `json:"cstates,omitempty"`
	Uncore        *Bounds     `json:"uncore,omitempty"`
	Swap          string      `json:"swap,omitempty"`
	THP           string      `json:"thp,omitempty"` // always, madvise, never
	NUMABalancing string      `json:"numa_balancing,omitempty"`
	IRQs          []int       `json:"irqs,omitempty"` // the only cores that interrupts may go to
}

// Bounds are a lowest and a highest frequency in Hz; 0 leaves that end as it is.
type Bounds struct {
	Min int `json:"min,omitempty"`
	Max int `json:"max,omitempty"`
}

// IdleStates are those that may be entered: by name, or by the longest exit latency in seconds.
type IdleStates struct {
	Names   []string `json:"names,omitempty"`
	Latency *float64 `json:"latency,omitempty"`
}
