// Package seed fills the stores of Social Network with users who follow each other and, if requested, with posts, and
// checks after load that its stores agree. What the seed is follows from a few numbers alone: everything can be made
// again at any time, in pieces, in any order.
package seed

import (
	"fmt"
	"sync"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/graph"
	"loadstone.dev/stone/platform/seeding"
)

const (
	quirksProfile = "dsb-quirks"
	// version changes when the same dataset becomes other documents, so that no older copy is restored.
	version   = 1
	graphSeed = 1
	mostPosts = 100
)

// Dataset says what the stores are to hold, under the keys of a plan's "dataset".
type Dataset struct {
	// Users and Edges (friendships: two follows each) are those of a generated graph.
	Users int `json:"users"`
	Edges int `json:"edges"`
	// File is an edge list, instead of the two (graph.Read).
	File string `json:"file"`
	// PostsPerUser is how many posts a user has at most: each has any number from 0 to it.
	PostsPerUser int `json:"posts_per_user"`
}

// Seed is what the stores hold before any load.
type Seed struct {
	dataset Dataset
	quirks  bool
	users   int
	posts   []uint8 // how many each user has
	total   int     // number of posts
	graph   func() (*graph.Graph, error)
	written func() []uint64 // mentions, see home.go
	parts   []part
}

var _ seeding.App = (*Seed)(nil)

// New reads the plan's dataset; of a graph it reads only a file, and generates one when it is needed.
func New(plan seeding.Plan) (*Seed, error) {
	if plan.Profile != "" && plan.Profile != quirksProfile {
		return nil, fmt.Errorf(`profile %q: social knows "" and %q`, plan.Profile, quirksProfile)
	}
	s := &Seed{quirks: plan.Profile == quirksProfile}
	if err := plan.DatasetInto(&s.dataset); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	s.posts = make([]uint8, s.users)
	for user := range s.posts {
		s.posts[user] = uint8(postsOf(user, s.dataset.PostsPerUser))
		s.total += int(s.posts[user])
	}
	s.written = sync.OnceValue(s.mentions)
	s.parts = s.allParts()
	return s, nil
}

// open finds the graph and the number of users.
func (s *Seed) open() error {
	d := s.dataset
	if d.PostsPerUser < 0 || d.PostsPerUser > mostPosts {
		return fmt.Errorf("posts_per_user %d: want 0 to %d", d.PostsPerUser, mostPosts)
	}
	if d.File != "" {
		if d.Users != 0 || d.Edges != 0 {
			return fmt.Errorf("file %s: remove users and edges, which it says itself", d.File)
		}
		read, err := graph.Read(d.File)
		if err != nil {
			return err
		}
		s.users, s.graph = read.Nodes(), func() (*graph.Graph, error) { return read, nil }
		return nil
	}
	if d.Users == 0 && d.Edges == 0 {
		return fmt.Errorf(`give "users" and "edges" (962 and 18812 are those of the published small graph), or "file"`)
	}
	if err := graph.CheckSize(d.Users, d.Edges); err != nil {
		return err
	}
	s.users = d.Users
	s.graph = sync.OnceValues(func() (*graph.Graph, error) { return graph.Generate(d.Users, d.Edges, graphSeed) })
	return nil
}

// mark tells the seeds of datasets and profiles apart.
func (s *Seed) mark() string {
	text := fmt.Sprintf("social %d, quirks %v, %d users, %d edges, %d posts each", version, s.quirks, s.dataset.Users, s.dataset.Edges,
		s.dataset.PostsPerUser)
	if s.dataset.File != "" {
		read, _ := s.graph()
		text += ", graph " + read.Digest()
	}
	return text
}

// Keeps names the document stores, and the Redis of the home timelines: the others only remember.
func (s *Seed) Keeps() seeding.Stores {
	stores := seeding.Stores{Redis: []string{homeRedis}}
	for _, at := range []documents.Location{data.Users, data.Graph, data.UserTimelines, data.Posts, data.URLs, data.Media} {
		stores.Services = append(stores.Services, at.Service)
	}
	return stores
}

// Describe returns the numbers of the seed: how many users, edges, follows, posts and addresses there are, and how many
// followers a user has. "home_timeline_newest" is how many posts of the seed a home timeline has at most; 0: all.
func (s *Seed) Describe() map[string]any {
	facts := map[string]any{"users": s.users, "posts": s.total, "posts_per_user": s.dataset.PostsPerUser}
	g, err := s.graph()
	if err != nil {
		return facts
	}
	degrees := g.Degrees()
	facts["edges"], facts["follows"] = g.Edges(), 2*g.Edges()
	facts["followers_mean"], facts["followers_median"], facts["followers_max"] = degrees.Mean, degrees.Median, degrees.Max
	facts["home_timeline_newest"] = s.homeLimit(g)
	return facts
}
