package service

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"loadstone.dev/stone/platform/documents"
)

const loadInterval = 500 * time.Millisecond

// Memory is data that a service keeps in memory, once its store holds it all. A service may start
// before its store is there or seeded; until then its answers are Unavailable. With an empty T it
// is just that gate, which keeps "no such document" of an empty store out of answers and caches.
type Memory[T any] struct {
	data   atomic.Pointer[T]
	reason atomic.Pointer[string] // why there is no data yet
}

// Get returns the data or a gRPC error that says why there is none.
func (m *Memory[T]) Get() (*T, error) {
	if data := m.data.Load(); data != nil {
		return data, nil
	}
	return nil, status.Error(codes.Unavailable, m.missing().Error())
}

func (m *Memory[T]) missing() error {
	if reason := m.reason.Load(); reason != nil {
		return errors.New(*reason)
	}
	return errors.New("not loaded yet")
}

// Fill polls the store in the background until load succeeds, and makes that a condition of readiness.
func (m *Memory[T]) Fill(host *Host, name string, load func(context.Context) (*T, error)) {
	host.Health.Need(name, func(context.Context) error {
		if m.data.Load() != nil {
			return nil
		}
		return m.missing()
	})
	host.Background(func(ctx context.Context) {
		for {
			attempt, cancel := context.WithTimeout(ctx, 10*time.Second)
			data, err := load(attempt)
			cancel()
			if err == nil {
				m.data.Store(data)
				host.Log.Info("done", "what", name)
				return
			}
			reason := err.Error()
			m.reason.Store(&reason)
			select {
			case <-ctx.Done():
				return
			case <-time.After(loadInterval):
			}
		}
	})
}

// Prepare tries something in the background until it succeeds, such as making the indexes of a store that may not be
// there yet, and makes that a condition of readiness.
func (h *Host) Prepare(name string, do func(context.Context) error) {
	new(Memory[struct{}]).Fill(h, name, func(ctx context.Context) (*struct{}, error) { return &struct{}{}, do(ctx) })
}

// Filled fails unless a collection holds at least as many documents as its seed.
func Filled(ctx context.Context, store documents.Store, at documents.Location, want int) error {
	have, err := at.In(store).Count(ctx)
	if err == nil && have < want {
		err = fmt.Errorf("holds %d of %d documents: run 'stone seed'", have, want)
	}
	if err != nil {
		return fmt.Errorf("%s.%s: %w", at.Database, at.Collection, err)
	}
	return nil
}

// ReadAll reads a whole collection once it is Filled.
func ReadAll[T any](ctx context.Context, store documents.Store, at documents.Location, want int) ([]T, error) {
	if err := Filled(ctx, store, at, want); err != nil {
		return nil, err
	}
	var list []T
	if err := at.In(store).Find(ctx, &list, documents.Query{}); err != nil {
		return nil, fmt.Errorf("%s.%s: %w", at.Database, at.Collection, err)
	}
	return list, nil
}
