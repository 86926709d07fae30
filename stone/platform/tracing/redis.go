package tracing

import (
	"context"
	"errors"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// RedisHooks are those of a client of a Redis, which have each command and each pipeline be a span: none if tracing is off.
func (t *Tracing) RedisHooks(need string) []goredis.Hook {
	if t == nil {
		return nil
	}
	return []goredis.Hook{redisHook{t.neighbour(need)}}
}

type redisHook struct{ need *neighbour }

// DialHook changes nothing.
func (redisHook) DialHook(next goredis.DialHook) goredis.DialHook { return next }

// ProcessHook is around each command. HELLO, which a new connection says before its first command, is part of that.
func (h redisHook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, command goredis.Cmder) error {
		name := command.Name()
		if name == "hello" {
			return next(ctx, command)
		}
		span := h.need.access(ctx, strings.ToUpper(name), "")
		err := next(ctx, command)
		endRedis(span, err)
		return err
	}
}

// ProcessPipelineHook is around each pipeline and transaction.
func (h redisHook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, commands []goredis.Cmder) error {
		span := h.need.access(ctx, "PIPELINE", "")
		err := next(ctx, commands)
		endRedis(span, err)
		return err
	}
}

// endRedis: that there is no such key is an answer.
func endRedis(span *span, err error) {
	if errors.Is(err, goredis.Nil) {
		err = nil
	}
	span.endWith(err)
}
