package social

import (
	"net/http"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/web"
)

// routeLoadAPI serves load generators: each request names the acting user.
func (f *frontend) routeLoadAPI(mux *http.ServeMux) {
	for path, answer := range map[string]func(*http.Request, web.Params) (string, error){
		"user/register": f.registerWithID,
		"user/follow":   f.followAs,
		"user/unfollow": f.unfollowAs,
		"post/compose":  f.composeAs,
	} {
		mux.HandleFunc("/wrk2-api/"+path, f.site.Handle(func(w http.ResponseWriter, r *http.Request) error {
			params, err := web.ReadParams(w, r)
			if err != nil {
				return err
			}
			text, err := answer(r, params)
			if err != nil {
				return err
			}
			say(w, text)
			return nil
		}))
	}
	mux.HandleFunc("/wrk2-api/home-timeline/read", f.site.Handle(f.readTimelineOf(f.readHome)))
	mux.HandleFunc("/wrk2-api/user-timeline/read", f.site.Handle(f.readTimelineOf(f.readUser)))
}

func (f *frontend) registerWithID(r *http.Request, params web.Params) (string, error) {
	if err := require(params, "first_name", "last_name", "username", "password", "user_id"); err != nil {
		return "", err
	}
	id, err := params.ID("user_id")
	if err != nil {
		return "", err
	}
	err = f.user.RegisterUserWithId(r.Context(), requestID(), params.Get("first_name"), params.Get("last_name"),
		params.Get("username"), params.Get("password"), id, nil)
	return "Success!", f.failed(registerFailed, err, idl.ErrorCode_SE_CONFLICT)
}

func (f *frontend) followAs(r *http.Request, params web.Params) (string, error) {
	return "Success!", f.connect(r, params, following)
}

func (f *frontend) unfollowAs(r *http.Request, params web.Params) (string, error) {
	return "Success!", f.connect(r, params, unfollowing)
}

func (f *frontend) composeAs(r *http.Request, params web.Params) (string, error) {
	if err := require(params, "username", "user_id", "text", "post_type"); err != nil {
		return "", err
	}
	id, err := params.ID("user_id")
	if err != nil {
		return "", err
	}
	return uploaded, f.composePost(r, params, id, params.Get("username"))
}

// reading reads a stretch of a user's timeline.
type reading func(r *http.Request, user int64, start, stop int32) ([]*idl.Post, error)

func (f *frontend) readTimelineOf(read reading) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		params, err := web.ReadParams(w, r)
		if err != nil {
			return err
		}
		if err := require(params, "user_id", "start", "stop"); err != nil {
			return err
		}
		user, err := params.ID("user_id")
		if err != nil {
			return err
		}
		return f.answerTimeline(w, r, params, user, read)
	}
}

func (f *frontend) answerTimeline(w http.ResponseWriter, r *http.Request, params web.Params, user int64, read reading) error {
	start, stop, err := stretch(params)
	if err != nil {
		return err
	}
	posts, err := read(r, user, start, stop)
	if err != nil {
		return err
	}
	f.encoding().posts(w, posts)
	return nil
}

func (f *frontend) readHome(r *http.Request, user int64, start, stop int32) ([]*idl.Post, error) {
	posts, err := f.homeTimeline.ReadHomeTimeline(r.Context(), requestID(), user, start, stop, nil)
	return posts, f.failed("Get home-timeline failure", err)
}

func (f *frontend) readUser(r *http.Request, user int64, start, stop int32) ([]*idl.Post, error) {
	posts, err := f.userTimeline.ReadUserTimeline(r.Context(), requestID(), user, start, stop, nil)
	return posts, f.failed("Get user-timeline failure", err)
}
