package seed

import (
	"slices"
	"sort"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/platform/graph"
)

const (
	homeRedis = "redis-home-timeline"
	// mostEntries bounds what the seed puts into all home timelines together, because a Redis needs up to 120 bytes for
	// each. Where there were more, each timeline begins with its newest posts alone. What load adds is not bounded.
	mostEntries = 4_000_000
	fewest      = 10
	numberBits  = 37
)

// homeLimit is how many posts of the seed a home timeline has at most; 0: all.
func (s *Seed) homeLimit(g *graph.Graph) int {
	if s.total == 0 {
		return 0
	}
	all := len(s.written())
	for user := range s.users {
		all += int(s.posts[user]) * len(g.Neighbours(user))
	}
	if all <= mostEntries {
		return 0
	}
	return max(mostEntries/s.users, fewest)
}

// mentions are all of them in order, each as the mentioned user and, in the lower bits, the number of the post.
func (s *Seed) mentions() []uint64 {
	all := []uint64{}
	for user := range s.users {
		for k := range int(s.posts[user]) {
			number := s.number(user, k)
			for _, mentioned := range s.mentioned(number) {
				all = append(all, uint64(mentioned)<<numberBits|uint64(number))
			}
		}
	}
	slices.Sort(all)
	return all
}

// mentioning are the numbers of the posts that mention a user.
func (s *Seed) mentioning(user int) (numbers []int) {
	all := s.written()
	begin := sort.Search(len(all), func(i int) bool { return all[i]>>numberBits >= uint64(user) })
	for _, mention := range all[begin:] {
		if mention>>numberBits != uint64(user) {
			break
		}
		numbers = append(numbers, int(mention&(1<<numberBits-1)))
	}
	return numbers
}

// home is a user's home timeline: the numbers of the posts by followed users, or that mention the user, the
// newest first.
func (s *Seed) home(g *graph.Graph, user, limit int) []int {
	numbers := s.mentioning(user)
	for _, other := range g.Neighbours(user) {
		for k := range int(s.posts[other]) {
			numbers = append(numbers, s.number(int(other), k))
		}
	}
	slices.SortFunc(numbers, func(a, b int) int { return b - a })
	numbers = slices.Compact(numbers)
	if limit > 0 && len(numbers) > limit {
		return numbers[:limit]
	}
	return numbers
}

// homeSize is how many entries all home timelines have together.
func (s *Seed) homeSize(g *graph.Graph, limit int) (size int) {
	if s.total == 0 {
		return 0
	}
	for user := range s.users {
		// No post is by two people: that many there are at least.
		least := 0
		for _, other := range g.Neighbours(user) {
			least += int(s.posts[other])
		}
		if limit > 0 && least >= limit {
			size += limit
		} else {
			size += len(s.home(g, user, limit))
		}
	}
	return size
}

func homeKey(user int) string { return strconv.Itoa(user) }

func members(numbers []int) []goredis.Z {
	set := make([]goredis.Z, len(numbers))
	for i, number := range numbers {
		set[i] = goredis.Z{Score: float64(timestamp(number)), Member: strconv.FormatInt(postID(number), 10)}
	}
	return set
}
