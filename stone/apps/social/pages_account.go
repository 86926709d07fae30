package social

import (
	"net/http"
)

// entered is the user's input in a form that is shown again. Passwords are not.
type entered struct{ FirstName, LastName, Username string }

func (f *frontend) loginPage(w http.ResponseWriter, r *http.Request) error {
	return f.show(w, r, http.StatusOK, "login", view{Title: "Log in", Here: "login", Body: entered{}})
}

func (f *frontend) sendLogin(w http.ResponseWriter, r *http.Request) error {
	params, err := f.ownForm(w, r)
	if err != nil {
		return err
	}
	if err := f.logIn(w, r, params); err != nil {
		page := view{Title: "Log in", Here: "login", Body: entered{Username: params.Get("username")}}
		return f.showAgain(w, r, "login", page, err)
	}
	http.Redirect(w, r, "/home", http.StatusSeeOther)
	return nil
}

func (f *frontend) signupPage(w http.ResponseWriter, r *http.Request) error {
	return f.show(w, r, http.StatusOK, "signup", view{Title: "Sign up", Here: "signup", Body: entered{}})
}

func (f *frontend) sendSignup(w http.ResponseWriter, r *http.Request) error {
	params, err := f.ownForm(w, r)
	if err != nil {
		return err
	}
	if err = f.signUp(r, params); err == nil {
		err = f.logIn(w, r, params)
	}
	if err != nil {
		return f.showAgain(w, r, "signup", view{Title: "Sign up", Here: "signup", Body: entered{
			params.Get("first_name"), params.Get("last_name"), params.Get("username"),
		}}, err)
	}
	http.Redirect(w, r, "/home", http.StatusSeeOther)
	return nil
}

// showAgain shows the form again and says what was wrong with it.
func (f *frontend) showAgain(w http.ResponseWriter, r *http.Request, name string, page view, err error) error {
	problem := f.site.Explain(r, err)
	page.Problem = problem.Text
	return f.show(w, r, problem.Status, name, page)
}

func (f *frontend) sendLogout(w http.ResponseWriter, r *http.Request) error {
	if _, err := f.ownForm(w, r); err != nil {
		return err
	}
	f.sessions.End(w)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}
