package counters

import "maps"

// set is the collectors of one recording, by the family that each reads.
type set struct {
	members []member
	absent  map[string]string // why there is nothing of a family, at the last reading
}

type member struct {
	family string
	collector
}

// families are what is read of a node itself, in this order.
var families = []struct {
	name string
	open func(*Host) (collector, error)
}{
	{"cpu", openProcessors},
	{"frequency", openFrequencies},
	{"cstate", openIdleStates},
	{"load", openLoad},
	{"memory", openMemory},
	{"disk", openDisks},
	{"interface", openInterfaces},
	{"power", openPower},
	{"clock", func(h *Host) (collector, error) { return h.clock, nil }},
}

// openNode opens all that this node has.
func (h *Host) openNode() set {
	opened := set{absent: map[string]string{}}
	for _, family := range families {
		collector, err := family.open(h)
		if err != nil {
			opened.absent[family.name] = err.Error()
			continue
		}
		opened.add(family.name, collector)
	}
	return opened
}

func (s *set) add(family string, collector collector) {
	s.members = append(s.members, member{family, collector})
}

// join adds the members of another set.
func (s *set) join(other set) {
	s.members = append(s.members, other.members...)
	maps.Copy(s.absent, other.absent)
}

// read makes one reading; what cannot be read is noted as absent until it can.
func (s *set) read(r *reading) {
	r.points = r.points[:0]
	for _, member := range s.members {
		if err := member.read(r); err != nil {
			s.absent[member.family] = err.Error()
		} else {
			delete(s.absent, member.family)
		}
	}
}

func (s *set) close() {
	for _, member := range s.members {
		member.close()
	}
}
