package media

import (
	"errors"
	"fmt"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
)

// exception is an error whose kind the caller is told. Any other error that a handler returns reaches it as a text.
func exception(code idl.ErrorCode, format string, arguments ...any) *idl.ServiceException {
	return &idl.ServiceException{ErrorCode: code, Message: fmt.Sprintf(format, arguments...)}
}

// invalid: what was sent is wrong in itself.
func invalid(format string, arguments ...any) *idl.ServiceException {
	return exception(idl.ErrorCode_SE_INVALID, format, arguments...)
}

// notFound: what was asked for is not there.
func notFound(format string, arguments ...any) *idl.ServiceException {
	return exception(idl.ErrorCode_SE_NOT_FOUND, format, arguments...)
}

// conflict: what was sent contradicts what is stored.
func conflict(format string, arguments ...any) *idl.ServiceException {
	return exception(idl.ErrorCode_SE_CONFLICT, format, arguments...)
}

// documentsFailed names an error of the document store; nil stays nil.
func documentsFailed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, documents.ErrUnstorable):
		return invalid("%v", err)
	default:
		return exception(idl.ErrorCode_SE_MONGODB_ERROR, "%v", err)
	}
}

// memcachedFailed names an error of memcached; nil stays nil.
func memcachedFailed(err error) error {
	if err == nil {
		return nil
	}
	return exception(idl.ErrorCode_SE_MEMCACHED_ERROR, "memcached: %v", err)
}

// redisFailed names an error of Redis; nil stays nil.
func redisFailed(err error) error {
	if err == nil {
		return nil
	}
	return exception(idl.ErrorCode_SE_REDIS_ERROR, "redis: %v", err)
}

// callFailed passes on what another service said, and names an error on the way to it; nil stays nil.
func callFailed(err error) error {
	var said *idl.ServiceException
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said):
		return said
	default:
		return exception(idl.ErrorCode_SE_THRIFT_CONN_ERROR, "%v", err)
	}
}

// isNotFound says whether an error is a notFound, of this service or another.
func isNotFound(err error) bool {
	var said *idl.ServiceException
	return errors.As(err, &said) && said.ErrorCode == idl.ErrorCode_SE_NOT_FOUND
}
