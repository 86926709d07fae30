package graph

import "math"

// The shape of the published small graph (socfb-Reed98: 962 nodes, 18,812 edges; degrees: mean 39.1, median 29, greatest
// 313, least 1). Its degrees are close to log-normal.
const (
	publishedNodes  = 962
	publishedEdges  = 18_812
	publishedMedian = 29
	publishedMax    = 313
)

// widest bounds the spread (sigma) that is tried; that of the published graph is about 0.8.
const widest = 1.3

// degreeSequence gives every node a degree, in ascending order: quantiles of a log-normal distribution whose median and
// greatest value stand to the mean as in the published graph (the greatest grows with the number of nodes, as that of a
// sample does), and whose sum is exactly twice the number of edges. Nil if there are too many edges for that.
func degreeSequence(nodes, edges int) []int {
	shape := newShape(nodes, edges)
	narrow, wide := 0.0, widest
	if sum(shape.degrees(wide)) < 2*edges {
		return nil
	}
	for range 50 {
		if middle := (narrow + wide) / 2; sum(shape.degrees(middle)) <= 2*edges {
			narrow = middle
		} else {
			wide = middle
		}
	}
	degrees := shape.degrees(narrow)
	if !shape.add(degrees, 2*edges-sum(degrees)) {
		return nil
	}
	return degrees
}

type shape struct {
	nodes, median, greatest int
}

func newShape(nodes, edges int) shape {
	const mean = 2.0 * publishedEdges / publishedNodes
	median := max(1, math.Round(2*float64(edges)/float64(nodes)*publishedMedian/mean))
	tail := math.Log(publishedMax/float64(publishedMedian)) / last(publishedNodes)
	greatest := min(int(math.Round(median*math.Exp(tail*last(nodes)))), nodes-1)
	// Where nearly every node has one edge there is none left for a great one.
	return shape{nodes, int(median), min(greatest, int(median)+2*edges-nodes*int(median))}
}

// degrees are those of a spread; the greatest stays.
func (s shape) degrees(sigma float64) []int {
	degrees := make([]int, s.nodes)
	for i := range degrees {
		quantile := float64(s.median) * math.Exp(sigma*normal((float64(i)+0.5)/float64(s.nodes)))
		degrees[i] = min(max(int(math.Round(quantile)), 1), s.greatest)
	}
	degrees[s.nodes-1] = s.greatest
	return degrees
}

// add spreads what is missing over the upper quarter, which moves neither the median nor the greatest; false if there is no room.
func (s shape) add(degrees []int, missing int) bool {
	for missing > 0 {
		before := missing
		for i := s.nodes - 2; i >= s.nodes*3/4 && missing > 0; i-- {
			if degrees[i] < s.greatest {
				degrees[i]++
				missing--
			}
		}
		if missing == before {
			return false
		}
	}
	return true
}

// normal is the quantile of the standard normal distribution.
func normal(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// last is the quantile of the greatest of n.
func last(n int) float64 { return normal(1 - 0.5/float64(n)) }

func sum(numbers []int) (total int) {
	for _, number := range numbers {
		total += number
	}
	return total
}
