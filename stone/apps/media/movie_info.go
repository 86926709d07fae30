package media

import (
	"context"
	"math"
	"strconv"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

type movieInfo struct {
	films *shelf[string, data.MovieInfo]
}

func startMovieInfo(ctx context.Context, host *service.Host) error {
	id := func(film *data.MovieInfo) string { return film.MovieID }
	films, err := openShelf(ctx, host, data.MovieInfos, "memcached-movie-info", "movie", "movie_id", id)
	if err != nil {
		return err
	}
	host.Thrift = idl.NewMovieInfoServiceProcessor(&movieInfo{films})
	return nil
}

// WriteMovieInfo adds a film. As published, its average rating comes as a text.
func (m *movieInfo) WriteMovieInfo(ctx context.Context, _ int64, id, title string, casts []*idl.Cast, plotID int64,
	thumbnails, photos, videos []string, average string, ratings int32, _ map[string]string,
) error {
	rating, err := strconv.ParseFloat(average, 64)
	if err != nil || math.IsNaN(rating) || math.IsInf(rating, 0) {
		return exception.Invalid("avg_rating: %.40q is not a number", average)
	}
	film := &data.MovieInfo{
		MovieID: id, Title: title, Casts: casts, PlotID: plotID, ThumbnailIds: thumbnails, PhotoIds: photos, VideoIds: videos,
		AvgRating: rating, NumRating: ratings,
	}
	if err := checkFilm(film); err != nil {
		return err
	}
	return m.films.add(ctx, film)
}

func checkFilm(film *data.MovieInfo) error {
	err := firstOf(checkName("movie_id", film.MovieID), checkName("title", film.Title), checkID("plot", film.PlotID),
		checkCount("casts", len(film.Casts)))
	if err == nil && film.NumRating < 0 {
		err = exception.Invalid("num_rating: %d is negative", film.NumRating)
	}
	for _, cast := range film.Casts {
		err = firstOf(err, checkWords("character", cast.Character, longestName), checkID("cast_info", cast.CastInfoID))
	}
	for name, ids := range map[string][]string{
		"thumbnail_ids": film.ThumbnailIds, "photo_ids": film.PhotoIds, "video_ids": film.VideoIds,
	} {
		err = firstOf(err, checkCount(name, len(ids)))
		for _, id := range ids {
			err = firstOf(err, checkWords(name, id, longestName))
		}
	}
	return err
}

func (m *movieInfo) ReadMovieInfo(ctx context.Context, _ int64, id string, _ map[string]string) (*idl.MovieInfo, error) {
	return m.films.get(ctx, id)
}

// UpdateRating takes ratings over into a film's average. As published, no service calls it.
func (m *movieInfo) UpdateRating(ctx context.Context, _ int64, id string, sum, ratings int32, _ map[string]string) error {
	if ratings < 1 {
		return exception.Invalid("num_uncommitted_rating: %d is not 1 or more", ratings)
	}
	unchanged := func(film *data.MovieInfo) documents.Condition { return documents.Equal("num_rating", film.NumRating) }
	return m.films.update(ctx, id, unchanged, func(film *data.MovieInfo) error {
		if film.NumRating > math.MaxInt32-ratings {
			return exception.Invalid("num_uncommitted_rating: %d more than %d are too many", ratings, film.NumRating)
		}
		total := film.AvgRating*float64(film.NumRating) + float64(sum)
		film.NumRating += ratings
		film.AvgRating = total / float64(film.NumRating)
		return nil
	})
}
