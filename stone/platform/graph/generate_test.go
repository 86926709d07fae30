package graph

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func generate(t testing.TB, nodes, edges int, seed uint64) *Graph {
	t.Helper()
	g, err := Generate(nodes, edges, seed)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The published facts of socfb-Reed98, and the very graph: seeds of another version must not mix with this one's.
func TestTheSmallGraphIsAsPublished(t *testing.T) {
	g := generate(t, publishedNodes, publishedEdges, 1)
	degrees := g.Degrees()
	if g.Nodes() != 962 || g.Edges() != 18_812 || degrees.Median != 29 || degrees.Max != 313 || degrees.Min < 1 ||
		math.Abs(degrees.Mean-39.1) > 0.05 {
		t.Errorf("%d nodes, %d edges, degrees %+v", g.Nodes(), g.Edges(), degrees)
	}
	if g.Digest() != "46bebb6228211303" {
		t.Errorf("another graph than ever: digest %s", g.Digest())
	}
	if other := generate(t, publishedNodes, publishedEdges, 2); other.Digest() == g.Digest() {
		t.Error("two seeds make the same graph")
	}
}

func TestGraphsAreSimpleAndWhole(t *testing.T) {
	sizes := [][2]int{{962, 18_812}, {3000, 65_000}, {5000, 20_000}, {1000, 10_000}, {1000, 500}, {100, 4950}, {100, 2000}}
	for nodes := 2; nodes <= 12; nodes++ {
		for edges := (nodes + 1) / 2; edges <= nodes*(nodes-1)/2; edges++ {
			sizes = append(sizes, [2]int{nodes, edges})
		}
	}
	for _, size := range sizes {
		for seed := range uint64(3) {
			g := generate(t, size[0], size[1], seed)
			wantSimple(t, fmt.Sprint(size, seed), g)
			if g.Nodes() != size[0] || g.Edges() != size[1] || g.Degrees().Min < 1 {
				t.Errorf("%v: %d nodes, %d edges, degrees %+v", size, g.Nodes(), g.Edges(), g.Degrees())
			}
			if again := generate(t, size[0], size[1], seed); again.Digest() != g.Digest() {
				t.Errorf("%v: the same seed makes another graph", size)
			}
		}
	}
}

// wantSimple: no loops, no double edges, and who is one's neighbour has one as a neighbour.
func wantSimple(t *testing.T, what string, g *Graph) {
	t.Helper()
	for u := range g.Nodes() {
		neighbours := g.Neighbours(u)
		for i, v := range neighbours {
			_, mutual := slices.BinarySearch(g.Neighbours(int(v)), uint32(u))
			if int(v) == u || i > 0 && neighbours[i-1] >= v || !mutual {
				t.Fatalf("%s: node %d has neighbours %v", what, u, neighbours)
			}
		}
	}
}

func TestLargerGraphsHaveTheSameShape(t *testing.T) {
	for _, size := range [][2]int{{8130, 176_815}, {20_000, 391_102}, {20_000, 100_000}} {
		degrees := generate(t, size[0], size[1], 1).Degrees()
		mean := 2 * float64(size[1]) / float64(size[0])
		if want := math.Round(mean * 29 / 39.11); math.Abs(degrees.Mean-mean) > 1e-9 || degrees.Median != want {
			t.Errorf("%v: %+v, want a mean of %v and a median of %v", size, degrees, mean, want)
		}
		// The greatest of more nodes is greater: 10.8 times the median with 962 of them, up to 25 times with 100,000.
		if ratio := float64(degrees.Max) / degrees.Median; ratio < 10.8 || ratio > 25 {
			t.Errorf("%v: the greatest degree is %v medians", size, ratio)
		}
	}
}

func TestDegreesSpreadLikeALogNormal(t *testing.T) {
	degrees := degreeSequence(publishedNodes, publishedEdges)
	if !slices.IsSorted(degrees) {
		degrees = slices.Sorted(slices.Values(degrees))
	}
	var logs []float64
	for _, degree := range degrees {
		logs = append(logs, math.Log(float64(degree)))
	}
	// In a log-normal distribution quartiles are as far from the median, one up, one down.
	low, middle, high := logs[len(logs)/4], logs[len(logs)/2], logs[len(logs)*3/4]
	if up, down := high-middle, middle-low; math.Abs(up-down) > 0.1 || up < 0.4 || up > 0.7 {
		t.Errorf("quartiles %v, %v, %v", low, middle, high)
	}
}

func TestImpossibleGraphsAreRefused(t *testing.T) {
	for _, size := range [][2]int{{0, 0}, {1, 1}, {2, 0}, {2, 2}, {10, 4}, {10, 46}, {-1, 5}, {10, -1}, {1<<26 + 1, 1 << 30}} {
		if _, err := Generate(size[0], size[1], 1); err == nil {
			t.Errorf("%v: no error", size)
		}
	}
}
