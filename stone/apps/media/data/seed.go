package data

import (
	"context"
	"fmt"
	"strconv"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

// quirksProfile restores the published application's bugs; here, indexes that are missing and how passwords are hashed.
const quirksProfile = "dsb-quirks"

const (
	fewestFilms = 1000 // workloads know their titles
	mostUsers   = 100_000
)

// Seed is what Media Microservices' stores hold before any load: films, actors and users, and no reviews.
type Seed struct {
	lists        seeding.Lists
	films, users int
	quirks       bool
}

// NewSeed makes the seed of a plan. Its dataset says how many "films" and "users" there are; 1,000 each where it does not.
func NewSeed(plan seeding.Plan) (*Seed, error) {
	if plan.Profile != "" && plan.Profile != quirksProfile {
		return nil, fmt.Errorf(`profile %q: media knows "" and %q`, plan.Profile, quirksProfile)
	}
	dataset := struct {
		Films int `json:"films"`
		Users int `json:"users"`
	}{1000, 1000}
	if err := plan.DatasetInto(&dataset); err != nil {
		return nil, err
	}
	if dataset.Films < fewestFilms || dataset.Films > mostFilms {
		return nil, fmt.Errorf("dataset: films: %d; give %d to %d", dataset.Films, fewestFilms, mostFilms)
	}
	if dataset.Users < 1 || dataset.Users > mostUsers {
		return nil, fmt.Errorf("dataset: users: %d; give 1 to %d", dataset.Users, mostUsers)
	}
	seed := &Seed{films: dataset.Films, users: dataset.Users, quirks: plan.Profile == quirksProfile}
	seed.lists = seed.collections()
	return seed, nil
}

// collections are all but users, whose hashes differ each time.
func (s *Seed) collections() seeding.Lists {
	var ids, infos, plots, people []documents.Keyed
	for number := 1; number <= s.films; number++ {
		film, key := FilmAt(number), strconv.Itoa(number)
		ids = append(ids, documents.Keyed{Key: key, Document: MovieID{Title: film.Info.Title, MovieID: film.Info.MovieID}})
		infos = append(infos, documents.Keyed{Key: key, Document: film.Info})
		plots = append(plots, documents.Keyed{Key: key, Document: film.Plot})
	}
	for number := 1; number <= People; number++ {
		people = append(people, documents.Keyed{Key: strconv.Itoa(number), Document: Person(number)})
	}
	var lists seeding.Lists
	for _, one := range []seeding.Collection{
		{Location: MovieIDs, Documents: ids}, {Location: MovieInfos, Documents: infos}, {Location: Plots, Documents: plots},
		{Location: CastInfos, Documents: people}, {Location: Reviews}, {Location: MovieReviews}, {Location: UserReviews},
	} {
		one.Indexes = Indexes(one.Location, s.quirks)
		lists = append(lists, one)
	}
	return lists
}

// Keeps: the seed is in document stores alone.
func (s *Seed) Keeps() seeding.Stores {
	stores := s.lists.Keeps()
	stores.Services = append(stores.Services, Users.Service)
	return stores
}

// Fill puts what is missing.
func (s *Seed) Fill(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	return s.each(ctx, into, s.lists.Fill, s.fillUsers)
}

// Reset leaves the seed alone in the stores.
func (s *Seed) Reset(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	return s.each(ctx, into, s.lists.Reset, s.resetUsers)
}

// Verify compares every document.
func (s *Seed) Verify(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	return s.each(ctx, in, s.lists.Verify, s.verifyUsers)
}

// Count counts documents, and the entries of the lists of reviews.
func (s *Seed) Count(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	return s.each(ctx, in, s.lists.Count, s.countUsers)
}

// Describe says how much there is.
func (s *Seed) Describe() map[string]any {
	return map[string]any{"films": s.films, "users": s.users, "people": People}
}

// each does one thing to the lists and the same to the users, and counts the entries of the lists of reviews.
func (s *Seed) each(ctx context.Context, in *seeding.Opened,
	lists func(context.Context, *seeding.Opened) ([]seeding.Row, error),
	users func(context.Context, *seeding.Opened, *seeding.Row) error) ([]seeding.Row, error) {
	rows, err := lists(ctx, in)
	if err != nil {
		return nil, err
	}
	row := seeding.Row{Store: Users.Service, Collection: Users.Collection, Want: s.users}
	if err := users(ctx, in, &row); err != nil {
		return nil, seeding.At(Users, err)
	}
	rows = append(rows, row)
	for _, at := range []documents.Location{MovieReviews, UserReviews} {
		entries := seeding.Row{Store: at.Service, Collection: "entries"}
		err := eachList(ctx, in, at, func(_ string, list []Entry) { entries.Have += len(list) })
		if err != nil {
			return nil, err
		}
		rows = append(rows, entries)
	}
	return rows, nil
}
