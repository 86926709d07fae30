package schedule

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// The streams of random numbers that the arrivals of one seed are made of.
const (
	streamGaps uint64 = 0x9e3779b97f4a7c15 + iota
	streamBlocks
	streamStates
	streamSplits
)

const (
	blockSize = 512 // arrivals of a block, the last of which is at its end
	leafSize  = 16  // arrivals that are drawn together
)

// unitPoisson finds any arrival of a Poisson process of rate 1 without the ones before it, so that one of a thousand
// workers does not walk the arrivals of all. It follows from two properties of the process. The time of 512 arrivals
// is a Gamma variate, so blocks are strung together. And given both ends of a block, the arrivals between them are
// independent and uniform, so each half of the block's time has a binomial number of them, and so on down to a few,
// which are drawn. Every half has random numbers of its own: who looks at one need not look at the others.
type unitPoisson struct {
	random rand.PCG // generator of the blocks
	blocks uint64   // passed or entered
	start  float64  // start of the block
	end    float64

	first uint64            // number of the first arrival of the leaf
	count int               // its arrivals
	leaf  [leafSize]float64 // their times
}

// due is when arrival n is, n never falling below earlier arguments.
func (u *unitPoisson) due(seed, n uint64) float64 {
	if u.blocks == 0 {
		u.random.Seed(seed, streamBlocks)
	}
	for u.blocks <= n/blockSize {
		u.start, u.end = u.end, u.end+gamma(&u.random, blockSize)
		u.blocks++
		u.count = 0
	}
	if n%blockSize == blockSize-1 {
		return u.end
	}
	if u.count == 0 || n-u.first >= uint64(u.count) {
		u.descend(seed, n)
	}
	return u.leaf[n-u.first]
}

// descend draws the leaf that arrival n is in.
func (u *unitPoisson) descend(seed, n uint64) {
	low, high, count, node := u.start, u.end, blockSize-1, uint64(1)
	u.first = n - n%blockSize
	var random rand.PCG
	for {
		random.Seed(seed^streamSplits, Scatter(u.blocks*2*blockSize+node))
		if count <= leafSize {
			break
		}
		middle, left := low+(high-low)/2, coins(&random, count)
		if node *= 2; n-u.first < uint64(left) {
			high, count = middle, left
		} else {
			u.first += uint64(left)
			low, count, node = middle, count-left, node+1
		}
	}
	u.count = count
	for i := range count {
		at, place := low+uniform(&random)*(high-low), i
		for ; place > 0 && u.leaf[place-1] > at; place-- {
			u.leaf[place] = u.leaf[place-1]
		}
		u.leaf[place] = at
	}
}

// coins is how many of so many fair coins show heads.
func coins(random *rand.PCG, count int) (heads int) {
	for ; count >= 64; count -= 64 {
		heads += bits.OnesCount64(random.Uint64())
	}
	return heads + bits.OnesCount64(random.Uint64()&(1<<count-1))
}

// gamma is a Gamma variate of that shape (at least 1) and scale 1, by the method of Marsaglia and Tsang (2000).
func gamma(random *rand.PCG, shape float64) float64 {
	d := shape - 1.0/3
	scale := 1 / math.Sqrt(9*d)
	for {
		x := normal(random)
		v := 1 + scale*x
		if v = v * v * v; v <= 0 {
			continue
		}
		u := 1 - uniform(random)
		if u < 1-0.0331*x*x*x*x || math.Log(u) < x*x/2+d-d*v+d*math.Log(v) { // the first spares most of the logarithms
			return d * v
		}
	}
}

// normal is a standard normal variate (Box and Muller 1958).
func normal(random *rand.PCG) float64 {
	return math.Sqrt(2*exponential(random)) * math.Cos(2*math.Pi*uniform(random))
}

// Scatter spreads consecutive numbers over the whole state space (the finaliser of SplitMix64).
func Scatter(n uint64) uint64 {
	z := (n + 1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
