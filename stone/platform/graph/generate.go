package graph

import (
	"fmt"
	"math/rand/v2"
)

const (
	attempts = 5    // wirings
	swaps    = 2000 // tries to mend one edge
)

// Generate makes a graph whose degrees are distributed as the published small graph's; every node has a neighbour. The same seed
// makes the same graph. Where there is no graph of that shape, because it is tiny or has nearly as many edges as there
// can be, all degrees are about the same. It fails if there are fewer edges than half the nodes, or more than there can be.
func Generate(nodes, edges int, seed uint64) (*Graph, error) {
	if err := CheckSize(nodes, edges); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	degrees := degreeSequence(nodes, edges)
	for attempt := range uint64(attempts) {
		if degrees == nil {
			break
		}
		random := rand.New(rand.NewPCG(seed, attempt))
		// A node's number must not reveal its degree.
		random.Shuffle(nodes, func(i, j int) { degrees[i], degrees[j] = degrees[j], degrees[i] })
		if wired, done := wire(degrees, random); done {
			return newGraph(nodes, wired), nil
		}
	}
	return newGraph(nodes, ring(nodes, edges)), nil
}

// CheckSize says why there is no graph of that size in which every node has a neighbour; nil if there is.
func CheckSize(nodes, edges int) error {
	if fewest, most := (nodes+1)/2, nodes*(nodes-1)/2; nodes < 2 || nodes > largest || edges < fewest || edges > most {
		return fmt.Errorf("%d nodes and %d edges: want 2 to %d nodes, and from half as many edges up to one for each pair",
			nodes, edges, largest)
	}
	return nil
}

// ring joins every node with the next one of a ring, then with the second next, as long as there are edges.
func ring(nodes, edges int) []uint64 {
	joined := make([]uint64, 0, edges)
	for distance := 1; ; distance++ {
		for node := range nodes {
			if len(joined) == edges {
				return joined
			}
			// Halfway round, the second half would be the first again.
			if 2*distance < nodes || node < distance {
				joined = append(joined, pack(uint32(node), uint32((node+distance)%nodes)))
			}
		}
	}
}

// wire makes edges that give every node its degree (the configuration model): it joins ends at random, then mends loops
// and double edges by swaps with random edges. It is not done if one cannot be mended.
func wire(degrees []int, random *rand.Rand) (edges []uint64, done bool) {
	ends := make([]uint32, 0, sum(degrees))
	for node, degree := range degrees {
		for range degree {
			ends = append(ends, uint32(node))
		}
	}
	random.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	m := mesh{edges: make([]uint64, 0, len(ends)/2), has: make(map[uint64]struct{}, len(ends)/2), random: random}
	var bad [][2]uint32
	for i := 0; i < len(ends); i += 2 {
		if u, v := ends[i], ends[i+1]; m.fits(u, v) {
			m.add(u, v)
		} else {
			bad = append(bad, [2]uint32{u, v})
		}
	}
	for _, edge := range bad {
		if !m.mend(edge[0], edge[1]) {
			return nil, false
		}
	}
	return m.edges, true
}

// mesh is the edges that are there.
type mesh struct {
	edges  []uint64
	has    map[uint64]struct{}
	random *rand.Rand
}

func (m *mesh) fits(u, v uint32) bool {
	_, there := m.has[pack(u, v)]
	return u != v && !there
}

func (m *mesh) add(u, v uint32) {
	m.edges = append(m.edges, pack(u, v))
	m.has[pack(u, v)] = struct{}{}
}

// mend replaces an edge c-d by u-c and v-d, so that u and v have the neighbour that they lack.
func (m *mesh) mend(u, v uint32) bool {
	if len(m.edges) == 0 {
		return false
	}
	for range swaps {
		at := m.random.IntN(len(m.edges))
		c, d := unpack(m.edges[at])
		if m.random.IntN(2) == 0 {
			c, d = d, c
		}
		if !m.fits(u, c) || !m.fits(v, d) || pack(u, c) == pack(v, d) {
			continue
		}
		delete(m.has, m.edges[at])
		m.edges[at] = m.edges[len(m.edges)-1]
		m.edges = m.edges[:len(m.edges)-1]
		m.add(u, c)
		m.add(v, d)
		return true
	}
	return false
}
