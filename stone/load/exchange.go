package load

// exchange is one request under way: when it was meant to go and when it went (ns from the start), on which
// connection, and as part of which session.
type exchange struct {
	n          uint64 // the number of its arrival
	at, sentAt int64
	op         int32
	status     int16 // the answer's status, 0 while there is none
	measured   bool
	overdue    bool  // it is past the SLO's limit by more than its own delay, and counted as such
	delay      int64 // the own delay that it is granted (own.go), ns
	stalled    int64 // the thread's when it was sent
	session    *session
	client     *client // the client of a closed loop; nil at a rate
	on         *connection
	size       int64 // bytes of the answer's body
	earlier    *exchange
	later      *exchange
}

// list holds what is under way, in the order of sending. So the oldest is first, for timeouts as for the SLO:
// requests go out in the order of their intended times.
type list struct {
	first, last *exchange
	count       int
}

func (l *list) add(x *exchange) {
	x.earlier, x.later = l.last, nil
	if l.last != nil {
		l.last.later = x
	} else {
		l.first = x
	}
	l.last = x
	l.count++
}

func (l *list) remove(x *exchange) {
	if x.earlier != nil {
		x.earlier.later = x.later
	} else {
		l.first = x.later
	}
	if x.later != nil {
		x.later.earlier = x.earlier
	} else {
		l.last = x.earlier
	}
	x.earlier, x.later = nil, nil
	l.count--
}
