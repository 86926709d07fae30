// Package logging makes the structured log of a service: JSON lines on stderr.
package logging

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// New logs JSON lines from a level on; every line names the service.
func New(out io.Writer, level slog.Level, service string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})).With("service", service)
}

// Limited logs the same kind of event once a second at most: a failing neighbour must not turn
// every request into a line. The next line says how many were left out. Safe for concurrent use.
type Limited struct {
	log *slog.Logger

	mutex      sync.Mutex
	last       time.Time
	suppressed int
}

// NewLimited limits lines to a logger.
func NewLimited(log *slog.Logger) *Limited { return &Limited{log: log} }

// Warn logs a warning unless one was logged within the last second.
func (l *Limited) Warn(message string, args ...any) {
	l.mutex.Lock()
	now := time.Now()
	if now.Sub(l.last) < time.Second {
		l.suppressed++
		l.mutex.Unlock()
		return
	}
	suppressed := l.suppressed
	l.last, l.suppressed = now, 0
	l.mutex.Unlock()
	if suppressed > 0 {
		args = append(args, "suppressed", suppressed)
	}
	l.log.Log(context.Background(), slog.LevelWarn, message, args...)
}
