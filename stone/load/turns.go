package load

// turns holds what is to be sent at a time that no schedule knew beforehand, earliest first: the later steps of
// sessions, the next requests of closed-loop clients, what a script delays. It is a binary heap, without the
// allocations of container/heap.
type turns []*rendered

func (t turns) first() *rendered {
	if len(t) == 0 {
		return nil
	}
	return t[0]
}

func (t *turns) add(r *rendered) {
	heap := append(*t, r)
	for child := len(heap) - 1; child > 0; {
		parent := (child - 1) / 2
		if heap[parent].at <= heap[child].at {
			break
		}
		heap[parent], heap[child] = heap[child], heap[parent]
		child = parent
	}
	*t = heap
}

func (t *turns) pop() *rendered {
	heap := *t
	first, last := heap[0], len(heap)-1
	heap[0], heap[last] = heap[last], nil
	heap = heap[:last]
	for parent := 0; ; {
		child := 2*parent + 1
		if child >= last {
			break
		}
		if child+1 < last && heap[child+1].at < heap[child].at {
			child++
		}
		if heap[parent].at <= heap[child].at {
			break
		}
		heap[parent], heap[child] = heap[child], heap[parent]
		parent = child
	}
	*t = heap
	return first
}
