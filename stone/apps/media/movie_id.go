package media

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

type movieID struct {
	films   documents.Collection
	cache   *service.Cached // title -> id
	compose *idl.ComposeReviewServiceClient
	rating  *idl.RatingServiceClient
	quirks  bool
}

func startMovieID(ctx context.Context, host *service.Host) error {
	films, err := openCollection(ctx, host, data.MovieIDs)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-movie-id")
	if err != nil {
		return err
	}
	compose, err := host.DialThrift("compose-review")
	if err != nil {
		return err
	}
	rating, err := host.DialThrift("rating")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewMovieIdServiceProcessor(&movieID{
		films: films, cache: cache, quirks: host.Config.Quirks,
		compose: idl.NewComposeReviewServiceClient(compose), rating: idl.NewRatingServiceClient(rating),
	})
	return nil
}

// UploadMovieId finds the film that the request's review is about, and passes the rating on.
func (m *movieID) UploadMovieId(ctx context.Context, reqID int64, title string, mark int32, carrier map[string]string) (bool, error) {
	if err := firstOf(checkName("title", title), checkRating(mark, m.quirks)); err != nil {
		return false, err
	}
	id, cached, err := m.find(ctx, title)
	if err != nil {
		return false, err
	}
	var film, rated bool
	var all errgroup.Group
	if !cached {
		all.Go(func() error {
			m.cache.Set(ctx, cacheKey(title), []byte(id))
			return nil
		})
	}
	all.Go(func() (err error) {
		film, err = m.compose.UploadMovieId(ctx, reqID, id, carrier)
		return exception.CallFailed(err)
	})
	all.Go(func() (err error) {
		rated, err = m.rating.UploadRating(ctx, reqID, id, mark, carrier)
		return exception.CallFailed(err)
	})
	err = all.Wait()
	return film || rated, err
}

// find is the id of a title, and whether the cache knew it.
func (m *movieID) find(ctx context.Context, title string) (id string, cached bool, err error) {
	key := cacheKey(title)
	if held, hit := m.cache.Get(ctx, []string{key})[key]; hit {
		return string(held), true, nil
	}
	var film data.MovieID
	err = m.films.Get(ctx, &film, documents.Equal("title", title))
	if errors.Is(err, documents.ErrNotFound) {
		return "", false, exception.NotFound("Movie %s is not registered", title)
	}
	return film.MovieID, false, exception.DocumentsFailed(err)
}

// RegisterMovieId adds a film. Neither its title nor its id may be another's. As published, the store is read first.
func (m *movieID) RegisterMovieId(ctx context.Context, _ int64, title, id string, _ map[string]string) error {
	if err := firstOf(checkName("title", title), checkName("movie_id", id)); err != nil {
		return err
	}
	var other data.MovieID
	err := m.films.Get(ctx, &other, documents.Equal("title", title))
	if err == nil {
		return exception.Conflict("Movie %s or its id %s already existed", title, id)
	}
	if !errors.Is(err, documents.ErrNotFound) {
		return exception.DocumentsFailed(err)
	}
	err = m.films.Insert(ctx, &data.MovieID{Title: title, MovieID: id})
	if errors.Is(err, documents.ErrDuplicate) {
		return exception.Conflict("Movie %s or its id %s already existed", title, id)
	}
	return exception.DocumentsFailed(err)
}

// ListMovies lists films in the order of their titles, those after a title.
func (m *movieID) ListMovies(ctx context.Context, _ int64, after string, limit int32, _ map[string]string) ([]*idl.MovieTitle, error) {
	if err := checkText("after", after); err != nil {
		return nil, err
	}
	if limit < 1 || limit > mostItems {
		return nil, exception.Invalid("limit: %d is not from 1 to %d", limit, mostItems)
	}
	films := []*data.MovieID{}
	err := m.films.Find(ctx, &films, documents.Query{OrderBy: "title", After: after, Limit: int(limit)})
	return films, exception.DocumentsFailed(err)
}
