package schedule

import "math"

// curve is how the rate goes over one phase, as a factor of the plan's rate. A process runs on an even scale on
// which its rate never changes; the integral of the curve is how much of that scale has passed, and its inverse is
// when. That keeps a Poisson process Poisson, at the rate that varies (Lewis and Shedler 1979; Çinlar 1975).
type curve interface {
	integral(t float64) float64   // from the phase's start to t ns after it, in ns of the even scale
	inverse(even float64) float64 // the t at which the integral has this value
	rate(t float64) float64       // the factor at t
	highest() float64
}

// level is a rate that does not change.
type level struct{ factor float64 }

func (l level) integral(t float64) float64   { return l.factor * t }
func (l level) inverse(even float64) float64 { return even / l.factor }
func (l level) rate(float64) float64         { return l.factor }
func (l level) highest() float64             { return l.factor }

// ramp is a rate that changes evenly over its length (ns).
type ramp struct{ from, to, length float64 }

func (r ramp) integral(t float64) float64 { return t * (r.from + (r.to-r.from)/2*(t/r.length)) }

// inverse solves the quadratic equation in the form that loses no digits where from and to are nearly equal.
func (r ramp) inverse(even float64) float64 {
	if r.from == 0 {
		return math.Sqrt(2 * r.length * even / r.to)
	}
	then := math.Sqrt(max(0, r.from*r.from+2*even*(r.to-r.from)/r.length)) // the rate at the time that is wanted
	return 2 * even / (r.from + then)
}

func (r ramp) rate(t float64) float64 { return r.from + (r.to-r.from)*(t/r.length) }

func (r ramp) highest() float64 { return max(r.from, r.to) }

// sine is a rate that swings about its mean; it begins there and rises. Its period is in ns.
type sine struct{ mean, amplitude, period float64 }

func (s sine) integral(t float64) float64 {
	half := math.Sin(math.Pi * t / s.period) // 1 - cos 2x = 2 sin^2 x, without the loss of digits
	return s.mean*t + s.amplitude*s.period/math.Pi*half*half
}

func (s sine) rate(t float64) float64 { return s.mean + s.amplitude*math.Sin(2*math.Pi*t/s.period) }

// inverse looks for the root by Newton's method, within its period. Each step narrows the bracket of the root, and
// one that leaves the bracket, as where the rate is almost 0, is replaced by a bisection.
func (s sine) inverse(even float64) float64 {
	periods := math.Floor(even / (s.mean * s.period))
	even -= periods * s.mean * s.period
	low, high := 0.0, s.period
	t := min(even/s.mean, high)
	for range 200 {
		sin, cos := math.Sincos(math.Pi * t / s.period) // both the integral and the rate come of it
		above := s.mean*t + s.amplitude*s.period/math.Pi*sin*sin - even
		if above > 0 {
			high = t
		} else {
			low = t
		}
		next := t - above/(s.mean+s.amplitude*2*sin*cos)
		if !(next >= low && next <= high) { // or not a number
			next = low + (high-low)/2
		}
		moved := math.Abs(next - t)
		t = next
		if moved <= 1e-3+1e-15*t { // ns, or the last digits of a float64
			break
		}
	}
	return periods*s.period + t
}

func (s sine) highest() float64 { return s.mean + math.Abs(s.amplitude) }
