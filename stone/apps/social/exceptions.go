package social

import (
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/exceptions"
)

// exception makes the exceptions that callers of these services receive.
var exception = exceptions.Kind[*idl.ServiceException]{
	New: func(code exceptions.Code, message string) *idl.ServiceException {
		return &idl.ServiceException{ErrorCode: idl.ErrorCode(code), Message: message}
	},
	CodeOf: func(exception *idl.ServiceException) exceptions.Code { return exceptions.Code(exception.ErrorCode) },
}
