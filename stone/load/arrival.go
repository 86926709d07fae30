package load

const maxRate = 10e6

// Arrival is the process that the intended send times follow: "constant" or "poisson", rate in requests/s.
type Arrival struct {
	Process string  `json:"process"`
	Rate    float64 `json:"rate"`
}

// check says what is wrong with an arrival process whose measured window is durationS seconds long.
func (a *Arrival) check(durationS float64) error {
	if a.Rate <= 0 || a.Rate > maxRate {
		return bad("arrival.rate", "%g is out of range; give more than 0 and at most %g", a.Rate, maxRate)
	}
	if a.Process != "constant" && a.Process != "poisson" {
		return bad("arrival.process", "%q is not known; give constant or poisson", a.Process)
	}
	return nil
}
