// Package web is what the HTTP front ends of applications have in common: errors as status and text, parameters and
// bodies with limits, sessions by cookie, tokens against forged forms, security headers, and one more service behind.
package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"loadstone.dev/stone/platform/logging"
)

// Problem is an error that the client receives.
type Problem struct {
	Status int
	Text   string
}

func (p *Problem) Error() string { return p.Text }

// Problemf makes a Problem.
func Problemf(status int, format string, args ...any) *Problem {
	return &Problem{status, fmt.Sprintf(format, args...)}
}

// Handler answers a request or returns why it did not; then it has written nothing.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Site answers the errors of its handlers.
type Site struct {
	log      *slog.Logger
	failures *logging.Limited
	explain  func(error) *Problem
}

// NewSite makes a site. Explain tells what an error of the application's services means to the asker, nil for any that it
// does not know: those are 500.
func NewSite(log *slog.Logger, explain func(error) *Problem) Site {
	return Site{log, logging.NewLimited(log), explain}
}

// Handle answers errors as plain text.
func (s Site) Handle(answer Handler) http.HandlerFunc {
	return s.HandleWith(answer, func(w http.ResponseWriter, _ *http.Request, problem *Problem) {
		http.Error(w, problem.Text, problem.Status)
	})
}

// HandleWith has errors shown by show. A panic is logged and answered as an error as well.
func (s Site) HandleWith(answer Handler, show func(http.ResponseWriter, *http.Request, *Problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			s.log.Error("handler panicked", "path", r.URL.Path, "cause", fmt.Sprint(cause))
			show(w, r, Problemf(http.StatusInternalServerError, "internal error"))
		}()
		if err := answer(w, r); err != nil {
			show(w, r, s.Explain(r, err))
		}
	}
}

// Explain finds what to tell the asker; what is our failure is logged.
func (s Site) Explain(r *http.Request, err error) *Problem {
	problem := s.meaning(err)
	if problem.Status >= http.StatusInternalServerError && r.Context().Err() == nil { // else the asker went away
		s.failures.Warn("request failed", "path", r.URL.Path, "error", err.Error())
	}
	return problem
}

func (s Site) meaning(err error) *Problem {
	var problem *Problem
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &tooLarge):
		return Problemf(http.StatusRequestEntityTooLarge, "body: more than %d bytes", tooLarge.Limit)
	}
	if problem = s.explain(err); problem != nil {
		return problem
	}
	return &Problem{http.StatusInternalServerError, err.Error()}
}
