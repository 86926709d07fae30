// Package exceptions names the errors of Thrift services by codes, as their callers receive them. Each application has
// generated types of its own for the same exception.
package exceptions

import (
	"errors"
	"fmt"

	"loadstone.dev/stone/platform/documents"
)

// Code is the kind of an exception; all applications number them alike.
type Code int32

// The codes that services send.
const (
	Connection   Code = 1
	Unauthorized Code = 2
	Memcached    Code = 3
	Documents    Code = 4
	Redis        Code = 5
	Handler      Code = 6
	Invalid      Code = 100
	NotFound     Code = 101
	Conflict     Code = 102
)

// Kind makes the exceptions of an application, whose generated type is E. Any other error that a handler returns reaches
// the caller as a text without a code.
type Kind[E error] struct {
	New    func(code Code, message string) E
	CodeOf func(exception E) Code
}

// Exception of a code.
func (k Kind[E]) Exception(code Code, format string, arguments ...any) E {
	return k.New(code, fmt.Sprintf(format, arguments...))
}

// Invalid: what was sent is wrong in itself.
func (k Kind[E]) Invalid(format string, arguments ...any) E {
	return k.Exception(Invalid, format, arguments...)
}

// Unauthorized: the caller did not prove its identity.
func (k Kind[E]) Unauthorized(format string, arguments ...any) E {
	return k.Exception(Unauthorized, format, arguments...)
}

// NotFound: what was requested is not there.
func (k Kind[E]) NotFound(format string, arguments ...any) E {
	return k.Exception(NotFound, format, arguments...)
}

// Conflict: what was sent contradicts what is stored.
func (k Kind[E]) Conflict(format string, arguments ...any) E {
	return k.Exception(Conflict, format, arguments...)
}

// DocumentsFailed names an error of the document store; nil stays nil.
func (k Kind[E]) DocumentsFailed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, documents.ErrUnstorable):
		return k.Invalid("%v", err)
	default:
		return k.Exception(Documents, "%v", err)
	}
}

// MemcachedFailed names an error of memcached; nil stays nil.
func (k Kind[E]) MemcachedFailed(err error) error { return k.failed(Memcached, "memcached", err) }

// RedisFailed names an error of Redis; nil stays nil.
func (k Kind[E]) RedisFailed(err error) error { return k.failed(Redis, "redis", err) }

func (k Kind[E]) failed(code Code, store string, err error) error {
	if err == nil {
		return nil
	}
	return k.Exception(code, "%s: %v", store, err)
}

// CallFailed passes on the exception of another service, and names an error on the way to it; nil stays nil.
func (k Kind[E]) CallFailed(err error) error {
	var exception E
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exception):
		return exception
	default:
		return k.Exception(Connection, "%v", err)
	}
}

// IsNotFound reports whether an error is a NotFound, of this service or another.
func (k Kind[E]) IsNotFound(err error) bool {
	var exception E
	return errors.As(err, &exception) && k.CodeOf(exception) == NotFound
}
