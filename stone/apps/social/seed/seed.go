package seed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

// all parts: the documents, and the home timelines in Redis.
func (s *Seed) all() []part { return append(slices.Clone(s.parts), homes{s}) }

// Fill puts what is missing and, where the stores then hold exactly the seed, has each keep a copy of it for Reset. A
// run that was killed is completed by another.
func (s *Seed) Fill(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	for _, part := range s.all() {
		if err := part.fill(ctx, into); err != nil {
			return nil, at(part, err)
		}
	}
	rows, err := s.Verify(ctx, into)
	if err != nil || slices.ContainsFunc(rows, wrong) {
		return rows, err
	}
	return rows, s.keep(ctx, into)
}

// Reset restores the copies that Fill had kept, and counts. Where there is none of this seed, it clears and fills.
func (s *Seed) Reset(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	err := s.restore(ctx, into)
	if err == nil {
		return s.Count(ctx, into)
	}
	if !errors.Is(err, documents.ErrNotKept) {
		return nil, err
	}
	for _, part := range s.parts {
		if err := into.Collection(part.where()).Clear(ctx); err != nil {
			return nil, at(part, err)
		}
	}
	if err := into.Redis[homeRedis].FlushDB(ctx).Err(); err != nil {
		return nil, at(homes{s}, err)
	}
	return s.Fill(ctx, into)
}

// Verify compares counts and, where they agree, documents: all of them, or those of a sample of users if there are many.
// If the application runs, it also requests some timelines and logins.
func (s *Seed) Verify(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	rows, err := s.Count(ctx, in)
	if err != nil {
		return nil, err
	}
	batches := s.sample()
	for i, part := range s.all() {
		row := &rows[slices.IndexFunc(rows, func(row seeding.Row) bool {
			return row.Store == part.where().Service && row.Collection == part.where().Collection
		})]
		if row.Have != row.Want || row.Want == 0 {
			continue
		}
		in.Progress.Begin(fmt.Sprintf("verifying %d of %d", i+1, len(s.all())), len(batches))
		if row.Differing, err = s.compare(ctx, in, part, batches); err != nil {
			return nil, at(part, err)
		}
	}
	if len(in.Plan.Entry) > 0 {
		requested, good, _ := s.ask(ctx, in, s.seeded)
		rows = append(rows, seeding.Row{Store: "entry", Collection: "answers", Want: requested, Have: good})
	}
	return rows, nil
}

// compare compares batches of users at the same time.
func (s *Seed) compare(ctx context.Context, in *seeding.Opened, part part, batches [][]int) (int, error) {
	var differ atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, users := range batches {
		group.Go(func() error {
			more, err := part.differing(ctx, in, users)
			differ.Add(int64(more))
			in.Progress.Add(1)
			return err
		})
	}
	err := group.Wait()
	return int(differ.Load()), err
}

// sample is all users or, if there are many, some of them; in batches.
func (s *Seed) sample() (batches [][]int) {
	if s.users <= exactly {
		return slices.Collect(slices.Chunk(between(0, s.users), sampleBatch))
	}
	for i := range samples {
		begin := (s.users - sampleBatch) * i / (samples - 1)
		batches = append(batches, between(begin, begin+sampleBatch))
	}
	return batches
}

// Count counts documents, and the entries of timelines.
func (s *Seed) Count(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	in.Progress.Begin("counting", len(s.all()))
	var rows []seeding.Row
	for _, part := range s.all() {
		row, err := part.count(ctx, in)
		if err != nil {
			return nil, at(part, err)
		}
		rows = append(rows, row)
		in.Progress.Add(1)
	}
	row, err := s.entriesOf(ctx, in)
	return append(rows, row), err
}

func wrong(row seeding.Row) bool { return row.Have != row.Want || row.Differing != 0 }

// at says in which store something failed.
func at(part part, err error) error {
	if where := part.where(); where.Service != homeRedis {
		return seeding.At(where, err)
	}
	return fmt.Errorf("store %s: %w", homeRedis, err)
}
