package media

import (
	"encoding/json"
	"net/http"

	"loadstone.dev/stone/apps/media/data"
	"loadstone.dev/stone/platform/web"
)

// filmBody is a film as it is written. Pointers tell what is missing.
type filmBody struct {
	MovieID      string       `json:"movie_id"`
	Title        string       `json:"title"`
	Casts        *[]castBody  `json:"casts"`
	PlotID       *int64       `json:"plot_id"`
	ThumbnailIDs *[]string    `json:"thumbnail_ids"`
	PhotoIDs     *[]string    `json:"photo_ids"`
	VideoIDs     *[]string    `json:"video_ids"`
	AvgRating    *json.Number `json:"avg_rating"` // takes texts as well
	NumRating    *int32       `json:"num_rating"`
}

// castBody takes the character also under the misspelt name, which is the one that the published front end reads.
type castBody struct {
	CastID     int32  `json:"cast_id"`
	Character  string `json:"character"`
	Charactor  string `json:"charactor"`
	CastInfoID int64  `json:"cast_info_id"`
}

// writeMovieInfo answers the average rating, as published.
func (f *frontend) writeMovieInfo(w http.ResponseWriter, r *http.Request) error {
	var film filmBody
	if err := web.ReadJSON(w, r, &film); err != nil {
		return err
	}
	if film.MovieID == "" || film.Title == "" || film.Casts == nil || film.PlotID == nil || film.ThumbnailIDs == nil ||
		film.PhotoIDs == nil || film.VideoIDs == nil || film.AvgRating == nil || *film.AvgRating == "" || film.NumRating == nil {
		return errIncomplete
	}
	casts := make([]*data.Cast, len(*film.Casts))
	for i, one := range *film.Casts {
		casts[i] = &data.Cast{CastID: one.CastID, Character: f.character(one), CastInfoID: one.CastInfoID}
	}
	err := f.movieInfo.WriteMovieInfo(r.Context(), requestID(), film.MovieID, film.Title, casts, *film.PlotID,
		*film.ThumbnailIDs, *film.PhotoIDs, *film.VideoIDs, film.AvgRating.String(), *film.NumRating, nil)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(film.AvgRating.String())) // fails only if the asker went away
	return nil
}

// character: Quirk: one under its right name is lost.
func (f *frontend) character(of castBody) string {
	if of.Charactor != "" || f.quirks {
		return of.Charactor
	}
	return of.Character
}

func (f *frontend) writeCastInfo(w http.ResponseWriter, r *http.Request) error {
	var actor struct {
		CastInfoID *int64  `json:"cast_info_id"`
		Name       string  `json:"name"`
		Gender     *bool   `json:"gender"`
		Intro      *string `json:"intro"`
	}
	if err := web.ReadJSON(w, r, &actor); err != nil {
		return err
	}
	if actor.CastInfoID == nil || actor.Name == "" || actor.Gender == nil || actor.Intro == nil {
		return errIncomplete
	}
	return f.castInfo.WriteCastInfo(r.Context(), requestID(), *actor.CastInfoID, actor.Name, *actor.Gender, *actor.Intro, nil)
}

func (f *frontend) writePlot(w http.ResponseWriter, r *http.Request) error {
	var plot struct {
		PlotID *int64  `json:"plot_id"`
		Plot   *string `json:"plot"`
	}
	if err := web.ReadJSON(w, r, &plot); err != nil {
		return err
	}
	if plot.PlotID == nil || plot.Plot == nil {
		return errIncomplete
	}
	return f.plot.WritePlot(r.Context(), requestID(), *plot.PlotID, *plot.Plot, nil)
}
