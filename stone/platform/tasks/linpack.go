package tasks

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"loadstone.dev/stone/platform/tracing"
)

// largestResidual is what the scaled residual of a right solution stays below (the test of High-Performance Linpack).
const largestResidual = 16

// Linpack solves one dense system of linear equations again and again, as the benchmark of that name does: LU factorisation
// with partial pivoting, the solution of both triangles, and the residual. Safe for concurrent use.
type Linpack struct {
	order  int
	matrix []float64 // by columns
	right  []float64
	norm   float64   // infinity norm of the matrix: the largest sum of a row's absolute values
	pool   sync.Pool // of *system
}

// system is the memory of one solution.
type system struct {
	matrix, solution []float64
	pivots           []int
}

// NewLinpack makes the system of that order; its numbers are the same each time.
func NewLinpack(order int) *Linpack {
	l := &Linpack{order: order, matrix: make([]float64, order*order), right: make([]float64, order)}
	random := rand.New(rand.NewPCG(uint64(order), 1325))
	sums := make([]float64, order)
	for k := range l.matrix {
		value := 2*random.Float64() - 1
		l.matrix[k] = value
		l.right[k%order] += value // the solution is all ones
		sums[k%order] += math.Abs(value)
	}
	for _, sum := range sums {
		l.norm = max(l.norm, sum)
	}
	l.pool.New = func() any {
		return &system{make([]float64, order*order), make([]float64, order), make([]int, order)}
	}
	return l
}

// Run solves the system within a span of that name and checks the solution.
func (l *Linpack) Run(ctx context.Context, name string) error {
	return tracing.Do(ctx, name, func() error {
		if err := l.solve(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

func (l *Linpack) solve() error {
	s := l.pool.Get().(*system)
	defer l.pool.Put(s)
	copy(s.matrix, l.matrix)
	copy(s.solution, l.right)
	if !factor(s.matrix, s.pivots) {
		return fmt.Errorf("a matrix of order %d is singular", l.order)
	}
	substitute(s.matrix, s.pivots, s.solution)
	if residual := l.residual(s.solution); !(residual <= largestResidual) { // also not if it is no number
		return fmt.Errorf("order %d: the scaled residual is %g, more than %d", l.order, residual, largestResidual)
	}
	return nil
}

// residual is max|Ax - b| / (eps * n * |A| * |x|), norms of infinity.
func (l *Linpack) residual(solution []float64) float64 {
	rest := make([]float64, l.order)
	for i, value := range l.right {
		rest[i] = -value
	}
	largest := 0.0
	for j, value := range solution {
		add(rest, value, l.matrix[j*l.order:])
		largest = math.Max(largest, math.Abs(value)) // unlike max, keeps what is no number
	}
	worst := 0.0
	for _, value := range rest {
		worst = math.Max(worst, math.Abs(value))
	}
	const eps = 0x1p-52
	return worst / (eps * float64(l.order) * l.norm * largest)
}

// factor replaces a matrix of columns by its triangles L and U, as LINPACK's dgefa: pivots has the row that each step
// exchanged. It is false for a singular matrix.
func factor(matrix []float64, pivots []int) bool {
	n := len(pivots)
	for k := range n {
		column := matrix[k*n : k*n+n]
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(column[i]) > math.Abs(column[pivot]) {
				pivot = i
			}
		}
		pivots[k] = pivot
		if column[pivot] == 0 {
			return false
		}
		column[k], column[pivot] = column[pivot], column[k]
		below := column[k+1:]
		for i := range below {
			below[i] /= -column[k]
		}
		for j := k + 1; j < n; j++ {
			other := matrix[j*n : j*n+n]
			other[k], other[pivot] = other[pivot], other[k]
			add(other[k+1:], other[k], below)
		}
	}
	return true
}

// substitute replaces the right-hand side by the solution, as LINPACK's dgesl.
func substitute(matrix []float64, pivots []int, right []float64) {
	n := len(pivots)
	for k, pivot := range pivots {
		right[k], right[pivot] = right[pivot], right[k]
		add(right[k+1:], right[k], matrix[k*n+k+1:])
	}
	for k := n - 1; k >= 0; k-- {
		right[k] /= matrix[k*n+k]
		add(right[:k], -right[k], matrix[k*n:])
	}
}

// add adds a multiple of from to a shorter or equally long vector (daxpy).
func add(to []float64, factor float64, from []float64) {
	from = from[:len(to)]
	for i := range to {
		to[i] += factor * from[i]
	}
}
