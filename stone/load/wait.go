package load

import "loadstone.dev/stone/load/mistake"

// waitPolicy says how a thread spends the time until the next send is due. Waking up is what a load generator
// spends its processor on: a precise sleep per request costs several times what the request itself does.
type waitPolicy string

const (
	precise waitPolicy = "precise" // sleep to the exact send time, wake for every answer
	tick    waitPolicy = "tick"    // look at sends and answers together, every 100 to 500 us
	spin    waitPolicy = "spin"    // never sleep
)

// parseWait checks a policy's name; "auto" is left to be chosen by rate.
func parseWait(name string) (waitPolicy, error) {
	switch policy := waitPolicy(name); policy {
	case precise, tick, spin, "auto":
		return policy, nil
	}
	return "", mistake.New("wait", "%q is not known; give auto, precise, tick or spin", name)
}

// preciseBelow is the rate per thread up to which auto sleeps precisely: about a tenth of a core.
const preciseBelow = 4000

// choose resolves auto by a thread's rate in requests/s and the lateness that is allowed at the 99th percentile in ns
// (0: not set), and gives the tick in ns: about four requests' worth, so the faster, the shorter; between 100 and 300 us
// unless the rate is low. Ticks make a request late by up to one, a precise sleep by some tens of us.
func (w waitPolicy) choose(rate float64, allowed int64) (waitPolicy, int64) {
	length := int64(min(max(4e9/rate, 100e3), 300e3))
	if w == "auto" {
		switch {
		case allowed > 0 && allowed < 100e3:
			w = spin
		case rate <= preciseBelow || allowed > 0 && allowed < 2*length:
			w = precise
		default:
			w = tick
		}
	}
	return w, length
}

// waitRate is the rate per thread, in requests/s, that the waiting is chosen for: the plan's `wait_rate`, or the highest
// that the schedule rises to. Runs that are compared are to wait alike.
func (p *Plan) waitRate(highest float64) float64 {
	if p.WaitRate > 0 {
		return p.WaitRate
	}
	return highest / float64(p.threads())
}
