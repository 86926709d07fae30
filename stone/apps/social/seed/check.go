package seed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

const (
	mostPostsChecked = 1000
	mostHomesChecked = 1000
)

// Check compares posts, user timelines and home timelines with each other, whatever they hold; if the application runs
// it also requests some. Posts whose writes are unfinished may lack entries. It takes about 60 bytes a post.
func (s *Seed) Check(ctx context.Context, in *seeding.Opened) ([]seeding.Finding, error) {
	in.Progress.Begin("reading", 4)
	held, err := s.read(ctx, in)
	if err != nil {
		return nil, err
	}
	findings := held.compare(in.Plan.Unfinished, s.quirks)
	if len(in.Plan.Entry) > 0 {
		in.Progress.Begin("asking", 1)
		requested, good, examples := s.ask(ctx, in, held.sizes)
		findings = append(findings, finding("timelines and logins that the application answers right", requested, good, 0, examples))
	}
	return findings, nil
}

// read reads timelines before posts: a post is stored before it is in a timeline, so whatever is read first must be
// there later. What is stored meanwhile would look unfinished, so nothing should be.
func (s *Seed) read(ctx context.Context, in *seeding.Opened) (*held, error) {
	h := &held{own: map[int64]int{}}
	err := in.Collection(data.UserTimelines).Each(ctx, func(decode func(any) error) error {
		var timeline data.Timeline
		err := decode(&timeline)
		h.timelines = append(h.timelines, timeline)
		h.own[timeline.UserID] += len(timeline.Posts)
		return err
	}, "user_id", "posts")
	if err != nil {
		return nil, seeding.At(data.UserTimelines, err)
	}
	in.Progress.Add(1)
	if err := h.readHomes(ctx, in.Redis[homeRedis]); err != nil {
		return nil, at(homes{s}, err)
	}
	in.Progress.Add(1)
	err = in.Collection(data.Posts).Each(ctx, func(decode func(any) error) error {
		var post data.Post
		err := decode(&post)
		h.posts = append(h.posts, written{post.PostID, post.Creator.UserID, post.Timestamp})
		return err
	}, "post_id", "creator", "timestamp")
	if err != nil {
		return nil, seeding.At(data.Posts, err)
	}
	slices.SortFunc(h.posts, func(a, b written) int { return cmp.Compare(a.id, b.id) })
	in.Progress.Add(1)
	return h, s.readReaders(ctx, in, h)
}

// readHomes reads home timelines, and how long all of them are.
func (h *held) readHomes(ctx context.Context, client *goredis.Client) error {
	keys, err := allKeys(ctx, client)
	if err != nil {
		return err
	}
	for chosen := range slices.Chunk(spread(keys, mostHomesChecked), lookups) {
		timelines, err := readHomes(ctx, client, chosen)
		if err != nil {
			return err
		}
		h.homes = append(h.homes, timelines...)
	}
	return nil
}

// readReaders finds, of some posts, who should have them in the home timeline, and whether they do.
func (s *Seed) readReaders(ctx context.Context, in *seeding.Opened, h *held) error {
	before := int64(0)
	if s.total > 0 {
		g, err := s.graph()
		if err != nil {
			return err
		}
		if s.homeLimit(g) > 0 { // older posts need not be there
			before = s.ended()
		}
	}
	for some := range slices.Chunk(h.sample(before, s.ended()), lookups/2) {
		posts, err := s.fetch(ctx, in, some)
		if err != nil {
			return err
		}
		if err := h.lookUp(ctx, in.Redis[homeRedis], posts); err != nil {
			return at(homes{s}, err)
		}
	}
	in.Progress.Add(1)
	return nil
}

// fetch reads posts with their mentions, and the followers that their authors have.
func (s *Seed) fetch(ctx context.Context, in *seeding.Opened, some []written) ([]delivery, error) {
	var ids, authors []int64
	for _, post := range some {
		ids, authors = append(ids, post.id), append(authors, post.author)
	}
	slices.Sort(authors)
	var nodes []data.Node
	by := func(field string, values []int64) documents.Query {
		return documents.Query{Where: []documents.Condition{documents.In(field, values)}}
	}
	if err := in.Collection(data.Graph).Find(ctx, &nodes, by("user_id", slices.Compact(authors))); err != nil {
		return nil, seeding.At(data.Graph, err)
	}
	followers := map[int64][]data.Edge{}
	for _, node := range nodes {
		followers[node.UserID] = node.Followers
	}
	var posts []data.Post
	if err := in.Collection(data.Posts).Find(ctx, &posts, by("post_id", ids)); err != nil {
		return nil, seeding.At(data.Posts, err)
	}
	deliveries := make([]delivery, len(posts))
	for i, post := range posts {
		deliveries[i] = delivery{post: post, readers: readers(post, followers[post.Creator.UserID])}
	}
	return deliveries, nil
}

// lookUp checks that posts are in the home timelines where they should be, with their time.
func (h *held) lookUp(ctx context.Context, client *goredis.Client, posts []delivery) error {
	for _, post := range posts {
		scores, err := client.Pipelined(ctx, func(pipeline goredis.Pipeliner) error {
			for _, reader := range post.readers {
				pipeline.ZScore(ctx, fmt.Sprint(reader), fmt.Sprint(post.post.PostID))
			}
			return nil
		})
		if err != nil && !errors.Is(err, goredis.Nil) {
			return err
		}
		for i, score := range scores {
			answer := score.(*goredis.FloatCmd)
			if answer.Err() != nil && !errors.Is(answer.Err(), goredis.Nil) {
				return answer.Err()
			}
			if answer.Err() != nil || int64(answer.Val()) != post.post.Timestamp {
				post.missing = append(post.missing, post.readers[i])
			}
		}
		h.deliveries = append(h.deliveries, post)
	}
	return nil
}

// spread chooses at most so many of a list, evenly.
func spread[T any](all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	chosen := make([]T, most)
	for i := range chosen {
		chosen[i] = all[i*len(all)/most]
	}
	return chosen
}
