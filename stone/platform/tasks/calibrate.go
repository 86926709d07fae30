package tasks

import (
	"errors"
	"math"
	"slices"
	"time"
)

// LargestOrder bounds a system of equations: 800 MB.
const LargestOrder = 10_000

// ErrTooLong: no system that may be solved takes so long.
var ErrTooLong = errors.New("the time is too long: systems have an order of at most 10000")

// Calibration is an order and how long its solution takes on this machine.
type Calibration struct {
	Order   int   `json:"order"`
	Samples int   `json:"samples"`
	Median  int64 `json:"median_us"`
	Fastest int64 `json:"fastest_us"`
	Slowest int64 `json:"slowest_us"`
}

const (
	fewSamples, manySamples = 5, 51
	firstOrder, mostSteps   = 100, 8
	closeEnough             = 0.02
)

// Calibrate finds the order whose solution takes the target time in the median on this machine, one after the other.
func Calibrate(target time.Duration) (Calibration, error) {
	return calibrate(target, Time)
}

func calibrate(target time.Duration, measure func(order, samples int) (Calibration, error)) (Calibration, error) {
	order := firstOrder
	for range mostSteps {
		got, err := measure(order, fewSamples)
		if err != nil {
			return got, err
		}
		ratio := float64(target.Microseconds()) / float64(max(got.Median, 1))
		next := int(math.Round(float64(order) * math.Cbrt(ratio))) // the work grows with its cube
		if next == order || math.Abs(ratio-1) < closeEnough {
			break
		}
		if next > LargestOrder {
			return got, ErrTooLong
		}
		order = max(next, 1)
	}
	return measure(order, manySamples)
}

// Time measures the solution of systems of that order.
func Time(order, samples int) (Calibration, error) {
	linpack := NewLinpack(order)
	times := make([]int64, samples)
	if err := linpack.solve(); err != nil { // which also makes its memory
		return Calibration{}, err
	}
	for i := range times {
		began := time.Now()
		if err := linpack.solve(); err != nil {
			return Calibration{}, err
		}
		times[i] = time.Since(began).Microseconds()
	}
	slices.Sort(times)
	return Calibration{order, samples, times[samples/2], times[0], times[samples-1]}, nil
}
