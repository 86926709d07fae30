package tasks

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLinpackSolves(t *testing.T) {
	for _, order := range []int{1, 2, 3, 17, 64, 128, 257} {
		l := NewLinpack(order)
		if err := l.solve(); err != nil {
			t.Fatal(err)
		}
		matrix, solution, pivots := append([]float64(nil), l.matrix...), append([]float64(nil), l.right...), make([]int, order)
		if !factor(matrix, pivots) {
			t.Fatal(order)
		}
		substitute(matrix, pivots, solution)
		for i, value := range solution {
			if math.Abs(value-1) > 1e-9*float64(order) {
				t.Fatalf("order %d: unknown %d is %g, not 1", order, i, value)
			}
		}
		if residual := l.residual(solution); residual > largestResidual {
			t.Error(order, residual)
		}
	}
}

// Three equations by hand, of which the first has no pivot where it stands.
func TestLinpackExchangesRows(t *testing.T) {
	matrix, right, pivots := []float64{0, 2, 4, 1, 1, -2, 1, 3, 1}, []float64{5, 13, 3}, make([]int, 3) // x = 1, 2, 3
	if !factor(matrix, pivots) || pivots[0] != 2 {
		t.Fatal(pivots)
	}
	substitute(matrix, pivots, right)
	for i, want := range []float64{1, 2, 3} {
		if math.Abs(right[i]-want) > 1e-12 {
			t.Fatal(right)
		}
	}
}

func TestLinpackSeesAWrongSolution(t *testing.T) {
	for name, spoil := range map[string]func(*Linpack){
		"residual": func(l *Linpack) { l.right[3] += 1e-6; l.norm /= 1e9 },
		"number":   func(l *Linpack) { l.matrix[5] = math.NaN() },
		"singular": func(l *Linpack) { clear(l.matrix[:20]) },
	} {
		l := NewLinpack(20)
		spoil(l)
		if err := l.Run(t.Context(), "LinpackBenchmark1"); err == nil || !strings.HasPrefix(err.Error(), "LinpackBenchmark1: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := NewLinpack(20)
	wrong := append([]float64(nil), l.right...)
	if residual := l.residual(wrong); residual <= largestResidual {
		t.Error(residual)
	}
}

func TestLinpackOfManyAtATime(t *testing.T) {
	l := NewLinpack(60)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if err := l.Run(t.Context(), "LinpackBenchmark1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// On a made-up machine: 2 ns for each multiplication.
func TestCalibrationFindsTheOrder(t *testing.T) {
	machine := func(order, samples int) (Calibration, error) {
		return Calibration{Order: order, Samples: samples, Median: int64(order * order * order / 1500)}, nil
	}
	for _, target := range []time.Duration{time.Millisecond, 6 * time.Millisecond, 20 * time.Millisecond, time.Second} {
		got, err := calibrate(target, machine)
		if err != nil || got.Samples != manySamples || math.Abs(float64(got.Median)/float64(target.Microseconds())-1) > 0.04 {
			t.Error(target, got, err)
		}
	}
	if _, err := calibrate(24*time.Hour, machine); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := calibrate(time.Second, func(int, int) (Calibration, error) { return Calibration{}, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestTimesAreInOrder(t *testing.T) {
	got, err := Time(40, 5)
	if err != nil || got.Order != 40 || got.Samples != 5 || got.Fastest > got.Median || got.Median > got.Slowest {
		t.Error(got, err)
	}
}

func BenchmarkLinpack(b *testing.B) {
	for _, order := range []int{200, 300, 400} {
		b.Run(fmt.Sprint(order), func(b *testing.B) {
			l := NewLinpack(order)
			for b.Loop() {
				if err := l.solve(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
