package media

import (
	"context"

	"golang.org/x/sync/errgroup"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/service"
)

type page struct {
	films   *idl.MovieInfoServiceClient
	reviews *idl.MovieReviewServiceClient
	actors  *idl.CastInfoServiceClient
	plots   *idl.PlotServiceClient
	quirks  bool
}

func startPage(_ context.Context, host *service.Host) error {
	films, err := host.DialThrift("movie-info")
	if err != nil {
		return err
	}
	reviews, err := host.DialThrift("movie-review")
	if err != nil {
		return err
	}
	actors, err := host.DialThrift("cast-info")
	if err != nil {
		return err
	}
	plots, err := host.DialThrift("plot")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewPageServiceProcessor(&page{
		films: idl.NewMovieInfoServiceClient(films), reviews: idl.NewMovieReviewServiceClient(reviews),
		actors: idl.NewCastInfoServiceClient(actors), plots: idl.NewPlotServiceClient(plots), quirks: host.Config.Quirks,
	})
	return nil
}

// ReadPage gathers what a film's page shows: film and reviews, then cast and plot, whose ids are the film's.
func (p *page) ReadPage(ctx context.Context, reqID int64, movieID string, start, stop int32, carrier map[string]string) (*idl.Page, error) {
	if err := checkRange(start, stop, p.quirks); err != nil {
		return nil, err
	}
	gathered := &idl.Page{}
	var first errgroup.Group
	first.Go(func() (err error) {
		gathered.MovieInfo, err = p.films.ReadMovieInfo(ctx, reqID, movieID, carrier)
		return exception.CallFailed(err)
	})
	first.Go(func() (err error) {
		gathered.Reviews, err = p.reviews.ReadMovieReviews(ctx, reqID, movieID, start, stop, carrier)
		return exception.CallFailed(err)
	})
	if err := first.Wait(); err != nil {
		return nil, err
	}
	ids := make([]int64, len(gathered.MovieInfo.Casts))
	for i, cast := range gathered.MovieInfo.Casts {
		ids[i] = cast.CastInfoID
	}
	var second errgroup.Group
	second.Go(func() (err error) {
		gathered.CastInfos, err = p.actors.ReadCastInfo(ctx, reqID, ids, carrier)
		return exception.CallFailed(err)
	})
	second.Go(func() (err error) {
		gathered.Plot, err = p.readPlot(ctx, reqID, gathered.MovieInfo.PlotID, carrier)
		return err
	})
	return gathered, second.Wait()
}

// readPlot: a film without a plot has an empty one. Quirk: it has no page.
func (p *page) readPlot(ctx context.Context, reqID, id int64, carrier map[string]string) (string, error) {
	words, err := p.plots.ReadPlot(ctx, reqID, id, carrier)
	if exception.IsNotFound(err) && !p.quirks {
		return "", nil
	}
	return words, exception.CallFailed(err)
}
