package data

import (
	"context"
	"fmt"
	"strconv"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

const mostExamples = 5

// belongs says whose lists a review is to be in.
type belongs struct{ film, user string }

// Check compares reviews with the lists of their films and their users: each is to be in both once, and the lists are to
// have nothing else. Of a write that was not answered some may be there.
func (s *Seed) Check(ctx context.Context, in *seeding.Opened) ([]seeding.Finding, error) {
	reviews := map[int64]belongs{}
	err := in.Collection(Reviews).Each(ctx, func(decode func(any) error) error {
		var review Review
		if err := decode(&review); err != nil {
			return err
		}
		reviews[review.ReviewID] = belongs{review.MovieID, strconv.FormatInt(review.UserID, 10)}
		return nil
	}, "review_id", "movie_id", "user_id")
	if err != nil {
		return nil, seeding.At(Reviews, err)
	}
	films, err := checkLists(ctx, in, MovieReviews, "film", reviews, func(b belongs) string { return b.film })
	if err != nil {
		return nil, err
	}
	users, err := checkLists(ctx, in, UserReviews, "user", reviews, func(b belongs) string { return b.user })
	if err != nil {
		return nil, err
	}
	return append(films, users...), nil
}

// checkLists compares one kind of lists with the reviews, and the reviews with the lists.
func checkLists(ctx context.Context, in *seeding.Opened, at documents.Location, kind string, reviews map[int64]belongs,
	owner func(belongs) string) ([]seeding.Finding, error) {
	listed := map[int64]int{}
	entries := seeding.Finding{What: "entries in the lists of " + kind + "s that are reviews of theirs", Examples: []string{}}
	err := eachList(ctx, in, at, func(whose string, list []Entry) {
		for _, entry := range list {
			review, exists := reviews[entry.ReviewID]
			right := exists && owner(review) == whose
			if right {
				listed[entry.ReviewID]++
			}
			note(&entries, right && listed[entry.ReviewID] == 1, "review %d in the list of %s %s", entry.ReviewID, kind, whose)
		}
	})
	if err != nil {
		return nil, err
	}
	stored := seeding.Finding{What: "reviews that are in the list of their " + kind + " once", Examples: []string{}}
	for id, review := range reviews {
		note(&stored, listed[id] == 1, "review %d of %s %s, %d times", id, kind, owner(review), listed[id])
	}
	findings := []seeding.Finding{stored, entries}
	for i := range findings {
		findings[i].OK = findings[i].Want-findings[i].Have <= in.Plan.Unfinished
	}
	return findings, nil
}

// note counts one thing that should be right, and gives it as an example if it is not.
func note(finding *seeding.Finding, right bool, format string, arguments ...any) {
	finding.Want++
	switch {
	case right:
		finding.Have++
	case len(finding.Examples) < mostExamples:
		finding.Examples = append(finding.Examples, fmt.Sprintf(format, arguments...))
	}
}

// eachList visits the lists of reviews of all films, or all users.
func eachList(ctx context.Context, in *seeding.Opened, at documents.Location, visit func(whose string, list []Entry)) error {
	err := in.Collection(at).Each(ctx, func(decode func(any) error) error {
		if at == MovieReviews {
			var list MovieReviewList
			err := decode(&list)
			visit(list.MovieID, list.Reviews)
			return err
		}
		var list UserReviewList
		err := decode(&list)
		visit(strconv.FormatInt(list.UserID, 10), list.Reviews)
		return err
	})
	return seeding.At(at, err)
}
