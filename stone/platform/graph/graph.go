// Package graph is the friendships of users: undirected graphs without loops and double edges, read from edge lists or
// generated in the shape of a published one. Nodes are numbered from 0.
package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// largest number of nodes, so that a wrong one does not take all memory.
const largest = 1 << 26

// Graph takes 8 bytes an edge and 8 a node.
type Graph struct {
	first  []int    // where a node's neighbours begin in others; one more than there are nodes
	others []uint32 // the neighbours of all nodes, each node's in ascending order
}

// pack is an edge as one number, the same both ways round; in their order edges are sorted by lower, then higher node.
func pack(u, v uint32) uint64 {
	return uint64(min(u, v))<<32 | uint64(max(u, v))
}

func unpack(edge uint64) (u, v uint32) { return uint32(edge >> 32), uint32(edge) }

// newGraph sorts the packed edges and takes each once.
func newGraph(nodes int, edges []uint64) *Graph {
	slices.Sort(edges)
	edges = slices.Compact(edges)
	g := &Graph{first: make([]int, nodes+1), others: make([]uint32, 2*len(edges))}
	for _, edge := range edges {
		u, v := unpack(edge)
		g.first[u+1]++
		g.first[v+1]++
	}
	for node := range nodes {
		g.first[node+1] += g.first[node]
	}
	// In the order of edges a node gets its lower neighbours first, then the higher ones.
	next := slices.Clone(g.first)
	for _, edge := range edges {
		u, v := unpack(edge)
		g.others[next[u]], g.others[next[v]] = v, u
		next[u], next[v] = next[u]+1, next[v]+1
	}
	return g
}

// Nodes is how many nodes there are, with or without neighbours.
func (g *Graph) Nodes() int { return len(g.first) - 1 }

// Edges is how many edges there are, each counted once.
func (g *Graph) Edges() int { return len(g.others) / 2 }

// Neighbours are a node's neighbours in ascending order; not to be changed.
func (g *Graph) Neighbours(node int) []uint32 { return g.others[g.first[node]:g.first[node+1]] }

// Degrees says how many neighbours nodes have.
type Degrees struct {
	Mean, Median float64
	Min, Max     int
}

// Degrees summarises all nodes; zero where there is none.
func (g *Graph) Degrees() Degrees {
	degrees := make([]int, g.Nodes())
	for node := range degrees {
		degrees[node] = len(g.Neighbours(node))
	}
	return summarise(degrees)
}

func summarise(degrees []int) Degrees {
	n := len(degrees)
	if n == 0 {
		return Degrees{}
	}
	sorted := slices.Sorted(slices.Values(degrees))
	sum := 0
	for _, degree := range sorted {
		sum += degree
	}
	return Degrees{
		Mean: float64(sum) / float64(n), Median: float64(sorted[(n-1)/2]+sorted[n/2]) / 2,
		Min: sorted[0], Max: sorted[n-1],
	}
}

// Digest tells graphs apart: 16 hexadecimal digits.
func (g *Graph) Digest() string {
	hash := sha256.New()
	var bytes [4]byte
	for node := range g.Nodes() {
		for _, number := range append([]uint32{uint32(len(g.Neighbours(node)))}, g.Neighbours(node)...) {
			binary.LittleEndian.PutUint32(bytes[:], number)
			_, _ = hash.Write(bytes[:])
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
