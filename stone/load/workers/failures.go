package workers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/script"
)

// The classes of failures that a coordinator tells apart.
const (
	badPlan     = "plan" // or in its script
	unreachable = "unreachable"
	otherwise   = "otherwise"
	stopped     = "stopped"
)

// ErrUnavailable is a load worker that cannot be started: there was no load.
var ErrUnavailable = errors.New("not available")

// failure makes the message of an error.
func failure(err error) message {
	m := message{Kind: failed, Text: err.Error()}
	var mistake *mistake.Error
	var inScript *script.Error
	switch {
	case errors.As(err, &mistake), errors.As(err, &inScript):
		m.Class = badPlan
	case errors.Is(err, load.ErrUnreachable):
		m.Class, m.Text = unreachable, strings.TrimPrefix(m.Text, load.ErrUnreachable.Error()+": ")
	case errors.Is(err, load.ErrOtherwise):
		m.Class, m.Text = otherwise, strings.TrimPrefix(m.Text, load.ErrOtherwise.Error()+": ")
	case errors.Is(err, context.Canceled):
		m.Class, m.Text = stopped, "the worker was stopped"
	}
	return m
}

// failure makes the error of a message.
func (m message) failure() error {
	switch m.Class {
	case badPlan:
		return &mistake.Error{Problem: m.Text}
	case unreachable:
		return fmt.Errorf("%w: %s", load.ErrUnreachable, m.Text)
	case otherwise:
		return fmt.Errorf("%w: %s", load.ErrOtherwise, m.Text)
	}
	return errors.New(m.Text)
}
