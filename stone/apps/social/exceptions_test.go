package social

import (
	"errors"
	"fmt"
	"io"
	"testing"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
)

func TestFailuresAreNamedAfterWhatFailed(t *testing.T) {
	for _, c := range []struct {
		err     error
		code    idl.ErrorCode
		message string
	}{
		{exception.DocumentsFailed(io.EOF), idl.ErrorCode_SE_MONGODB_ERROR, "EOF"},
		{exception.DocumentsFailed(fmt.Errorf("%w: text", documents.ErrUnstorable)), idl.ErrorCode_SE_INVALID, "documents: cannot be stored: text"},
		{exception.RedisFailed(io.EOF), idl.ErrorCode_SE_REDIS_ERROR, "redis: EOF"},
		{exception.CallFailed(io.EOF), idl.ErrorCode_SE_THRIFT_CONN_ERROR, "EOF"},
		{exception.CallFailed(fmt.Errorf("user: %w", exception.NotFound("no %s", "one"))), idl.ErrorCode_SE_NOT_FOUND, "no one"},
	} {
		var raised *idl.ServiceException
		if !errors.As(c.err, &raised) || raised.ErrorCode != c.code || raised.Message != c.message {
			t.Errorf("%v, want %s %s", c.err, c.code, c.message)
		}
	}
	if exception.DocumentsFailed(nil) != nil || exception.RedisFailed(nil) != nil || exception.CallFailed(nil) != nil {
		t.Error("what did not fail is an error")
	}
}
