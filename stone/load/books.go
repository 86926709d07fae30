package load

import (
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/schedule"
)

// books are what a thread keeps of the requests that it has sent.
type books struct {
	recorder     *recorder
	catalogue    *request.Catalogue
	kinds        []*request.Kind // as far as this thread has seen them
	inFlight     list
	oldestInTime *exchange         // the oldest request in flight that is not overdue
	overdue      schedule.Arrivals // counts what was due an SLO's latency ago
	checked      int64             // when limits were last checked
	boundary     int64             // end of the current interval
	usage        usage

	spareExchanges []*exchange // used again, likewise
}

// exchange returns one to be filled in.
func (b *books) exchange() *exchange {
	last := len(b.spareExchanges) - 1
	if last < 0 {
		return &exchange{}
	}
	x := b.spareExchanges[last]
	b.spareExchanges = b.spareExchanges[:last]
	return x
}

// kind returns what is known of a kind of request; those of a script are met on the way.
func (b *books) kind(op int32) *request.Kind {
	if int(op) >= len(b.kinds) {
		b.kinds = b.catalogue.List()
	}
	return b.kinds[op]
}
