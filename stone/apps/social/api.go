package social

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

// cookieLasts is how long a browser keeps a token, as published. The token itself says how long it is good.
const cookieLasts = 24 * time.Hour

// Where the published API sends a browser, from any of its paths.
const (
	toIndex   = "../../index.html"
	toMain    = "../../main.html"
	toContact = "../../contact.html"
)

// routeAPI serves requests of pages and users: the cookie identifies the acting user. A link must not be able to write
// as the user who follows it; Quirk: any method will do.
func (f *frontend) routeAPI(mux *http.ServeMux) {
	api := http.NewServeMux()
	write, read := "POST ", "GET "
	if f.quirks {
		write, read = "", ""
	}
	for pattern, answer := range map[string]web.Handler{
		write + "/api/user/register":     f.register,
		write + "/api/user/login":        f.login,
		write + "/api/user/follow":       f.connectMyself(following, toContact),
		write + "/api/user/unfollow":     f.connectMyself(unfollowing, ""),
		write + "/api/post/compose":      f.composeMyself,
		read + "/api/user/get_follower":  f.myFollowers,
		read + "/api/user/get_followee":  f.myFollowees,
		read + "/api/home-timeline/read": f.readMyTimeline(f.readHome),
		read + "/api/user-timeline/read": f.readMyTimeline(f.readUser),
	} {
		api.HandleFunc(pattern, f.site.Handle(answer))
	}
	mux.Handle("/api/", web.OpenToAll(api))
}

// myself is who the cookie says is asking; a token that is missing, forged or too old is 401.
func (f *frontend) myself(r *http.Request) (accounts.Session, error) {
	token := f.sessions.Token(r)
	if token == "" {
		return accounts.Session{}, web.Problemf(http.StatusUnauthorized, "not logged in")
	}
	session, err := f.tokens.Read(token)
	if err != nil {
		return session, web.Problemf(http.StatusUnauthorized, "not logged in: %v", err)
	}
	return session, nil
}

// found redirects to a place as it is written: the published ones are relative.
func found(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}

func (f *frontend) register(w http.ResponseWriter, r *http.Request) error {
	params, err := web.ReadParams(w, r)
	if err != nil {
		return err
	}
	if err := f.signUp(r, params); err != nil {
		return f.failed(registerFailed, err, idl.ErrorCode_SE_CONFLICT)
	}
	found(w, toIndex)
	return nil
}

func (f *frontend) signUp(r *http.Request, params web.Params) error {
	if err := require(params, "first_name", "last_name", "username", "password"); err != nil {
		return err
	}
	return f.user.RegisterUser(r.Context(), requestID(), params.Get("first_name"), params.Get("last_name"),
		params.Get("username"), params.Get("password"), nil)
}

func (f *frontend) login(w http.ResponseWriter, r *http.Request) error {
	params, err := web.ReadParams(w, r)
	if err != nil {
		return err
	}
	if err := f.logIn(w, r, params); err != nil {
		return f.failed("User login failure", err)
	}
	found(w, toMain+"?username="+url.QueryEscape(params.Get("username")))
	return nil
}

// logIn begins a session.
func (f *frontend) logIn(w http.ResponseWriter, r *http.Request, params web.Params) error {
	if err := require(params, "username", "password"); err != nil {
		return err
	}
	token, err := f.user.Login(r.Context(), requestID(), params.Get("username"), params.Get("password"), nil)
	if err == nil {
		f.sessions.Begin(w, token, cookieLasts)
	}
	return err
}

// connectMyself follows or unfollows as the user of the session, which the request may omit but cannot contradict.
// Quirk: the session is not checked.
func (f *frontend) connectMyself(do connection, to string) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		params, err := web.ReadParams(w, r)
		if err != nil {
			return err
		}
		if !f.quirks {
			session, err := f.myself(r)
			if err != nil {
				return err
			}
			if params, err = as(session, params); err != nil {
				return err
			}
		}
		if err := f.connect(r, params, do); err != nil {
			return err
		}
		if to != "" {
			found(w, to)
		}
		return nil
	}
}

// as adds who is asking to the parameters, unless they name another.
func as(session accounts.Session, params web.Params) (web.Params, error) {
	for name, own := range map[string]string{
		"user_id": strconv.FormatInt(session.UserID, 10), "user_name": session.Username,
	} {
		switch given := params.Get(name); given {
		case own:
		case "":
			params = append(web.Params{{Name: name, Value: own}}, params...) // before one that is empty
		default:
			return nil, web.Problemf(http.StatusForbidden, "%s: %.30q is not who is logged in, %q", name, given, own)
		}
	}
	return params, nil
}

func (f *frontend) composeMyself(w http.ResponseWriter, r *http.Request) error {
	session, err := f.myself(r)
	if err != nil && f.quirks {
		found(w, toIndex)
		return nil
	}
	if err != nil {
		return err
	}
	params, err := web.ReadParams(w, r)
	if err != nil {
		return err
	}
	if err := require(params, "text", "post_type"); err != nil {
		return err
	}
	if err := f.composePost(r, params, session.UserID, session.Username); err != nil {
		return err
	}
	say(w, uploaded)
	return nil
}

func (f *frontend) myFollowers(w http.ResponseWriter, r *http.Request) error {
	session, err := f.myself(r)
	if err != nil {
		return err
	}
	ids, err := f.graph.GetFollowers(r.Context(), requestID(), session.UserID, nil)
	if err != nil {
		return f.failed("Get followers failure", err)
	}
	f.encoding().users(w, "follower_id", ids)
	return nil
}

func (f *frontend) myFollowees(w http.ResponseWriter, r *http.Request) error {
	session, err := f.myself(r)
	if err != nil {
		return err
	}
	ids, err := f.graph.GetFollowees(r.Context(), requestID(), session.UserID, nil)
	if err != nil {
		return f.failed("Get followees failure", err)
	}
	f.encoding().users(w, "followee_id", ids)
	return nil
}

func (f *frontend) readMyTimeline(read reading) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		session, err := f.myself(r)
		if err != nil {
			return err
		}
		params, err := web.ReadParams(w, r)
		if err != nil {
			return err
		}
		if err := require(params, "start", "stop"); err != nil {
			return err
		}
		return f.answerTimeline(w, r, params, session.UserID, read)
	}
}
