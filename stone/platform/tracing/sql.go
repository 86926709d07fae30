package tracing

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Tables makes a span of each statement to the service's PostgreSQL: "select users", of the peer
// "postgres-<service>". Nil if tracing is off.
func (t *Tracing) Tables() pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return queries{t.neighbour("postgres-" + t.service)}
}

type queries struct{ need *neighbour }

type queryKey struct{}

// TraceQueryStart begins the span of a statement; its end finds it in the context.
func (q queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	begun := q.need.access(ctx, "", "")
	if begun == nil {
		return ctx
	}
	begun.verb, begun.object = summary(data.SQL)
	return context.WithValue(ctx, queryKey{}, begun)
}

// TraceQueryEnd comes once the rows have been read.
func (q queries) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	begun, _ := ctx.Value(queryKey{}).(*span)
	begun.endWith(data.Err)
}

// summary is a statement's verb, and its table: the word after FROM, INTO or UPDATE. It never has a value in it.
func summary(statement string) (verb, table string) {
	words := strings.Fields(statement)
	for i, word := range words {
		switch strings.ToLower(word) {
		case "from", "into", "update":
			if i+1 < len(words) {
				return strings.ToLower(words[0]), words[i+1]
			}
		}
	}
	if len(words) == 0 {
		return "query", ""
	}
	return strings.ToLower(words[0]), ""
}
