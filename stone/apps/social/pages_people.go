package social

import (
	"net/http"
	"slices"

	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

// peopleOnPage is how many contacts a page shows.
const peopleOnPage = 50

// connecting is the form that follows a user or stops that.
type connecting struct {
	Name     string
	Followed bool
	Form     string
}

func (f *frontend) findUser(w http.ResponseWriter, r *http.Request, _ accounts.Session) error {
	name := r.URL.Query().Get("name")
	if name == "" { // whose page there is not
		return web.Problemf(http.StatusBadRequest, "No name is given: write the name of a user.")
	}
	http.Redirect(w, r, profilePath(name), http.StatusSeeOther)
	return nil
}

func (f *frontend) profilePage(w http.ResponseWriter, r *http.Request, session accounts.Session) error {
	name := r.PathValue("name")
	id, err := f.user.GetUserId(r.Context(), requestID(), name, nil)
	if err != nil {
		return err
	}
	posts, err := f.timelinePage(r, id, f.readUser, "No posts yet.")
	if err != nil {
		return err
	}
	followers, err := f.graph.GetFollowers(r.Context(), requestID(), id, nil)
	if err != nil {
		return err
	}
	followees, err := f.graph.GetFollowees(r.Context(), requestID(), id, nil)
	if err != nil {
		return err
	}
	here := ""
	if id == session.UserID {
		here = "me"
	}
	return f.show(w, r, http.StatusOK, "profile", view{Title: name, Here: here, Body: struct {
		Name                 string
		Followers, Followees int
		Connecting           connecting
		Timeline             timeline
	}{name, len(followers), len(followees), connecting{name, slices.Contains(followers, session.UserID), f.sessions.FormToken(w, r)}, posts}})
}

func (f *frontend) sendConnect(do connection) func(http.ResponseWriter, *http.Request, accounts.Session) error {
	return func(w http.ResponseWriter, r *http.Request, session accounts.Session) error {
		if _, err := f.ownForm(w, r); err != nil {
			return err
		}
		name := r.PathValue("name")
		id, err := f.user.GetUserId(r.Context(), requestID(), name, nil)
		if err != nil {
			return err
		}
		if err := do.byID(f, r, session.UserID, id); err != nil {
			return err
		}
		http.Redirect(w, r, profilePath(name), http.StatusSeeOther)
		return nil
	}
}

// contactsPage shows the followers of a user, or the users that it follows.
func (f *frontend) contactsPage(kind string) func(http.ResponseWriter, *http.Request, accounts.Session) error {
	return func(w http.ResponseWriter, r *http.Request, session accounts.Session) error {
		name := r.PathValue("name")
		id, err := f.user.GetUserId(r.Context(), requestID(), name, nil)
		if err != nil {
			return err
		}
		list := f.graph.GetFollowees
		if kind == "followers" {
			list = f.graph.GetFollowers
		}
		ids, err := list(r.Context(), requestID(), id, nil)
		if err != nil {
			return err
		}
		from := min(pageStart(r), len(ids))
		end := min(from+peopleOnPage, len(ids))
		people, err := f.people(w, r, session, ids[from:end])
		if err != nil {
			return err
		}
		here := ""
		if id == session.UserID {
			here = "contacts"
		}
		newer, older := turning(r, from, peopleOnPage, end < len(ids))
		return f.show(w, r, http.StatusOK, "contacts", view{Title: "Contacts of " + name, Here: here, Body: struct {
			Name, Kind   string
			Count        int
			People       []connecting
			Newer, Older string
		}{name, kind, len(ids), people, newer, older}})
	}
}

// people names users and marks those that the current user follows.
func (f *frontend) people(w http.ResponseWriter, r *http.Request, session accounts.Session, ids []int64) ([]connecting, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	users, err := f.user.GetUsers(r.Context(), requestID(), ids, nil)
	if err != nil {
		return nil, err
	}
	followed, err := f.graph.GetFollowees(r.Context(), requestID(), session.UserID, nil)
	if err != nil {
		return nil, err
	}
	form := f.sessions.FormToken(w, r)
	people := make([]connecting, len(users))
	for i, one := range users {
		people[i] = connecting{one.Username, slices.Contains(followed, one.UserID), form}
	}
	return people, nil
}
