package request

import "loadstone.dev/stone/load/mistake"

const (
	mostRepeats  = 10_000
	longestField = 16 << 20
)

// repeat is a number of draws of another field, each between prefix and suffix, joined by separator.
type repeat struct {
	of                        drawer
	min, max                  int64
	as                        int // slot of the repeat whose number this one takes, -1 for none
	separator, prefix, suffix []byte
}

func compileRepeat(f *Field, key string, fields *fieldSet) (drawer, error) {
	r := repeat{as: -1, separator: []byte(f.Separator), prefix: []byte(f.Prefix), suffix: []byte(f.Suffix)}
	switch r.of, _ = fields.find(f.Of); of := r.of.(type) {
	case nil:
		return nil, mistake.New(key+".of", "%q is not a field of this operation (or they wait for each other)", f.Of)
	case sequence:
		return nil, mistake.New(key+".of", "%q is a sequence: it is the same all through a request", f.Of)
	case sum:
		return nil, mistake.New(key+".of", "%q is a sum: it is the same all through a request", f.Of)
	case file:
		if of.inOrder {
			return nil, mistake.New(key+".of", "%q takes its file in order: it is the same all through a request", f.Of)
		}
	}
	var err error
	if f.AsManyAs == "" {
		if r.min, r.max, err = fromTo(f, key, mostRepeats); err != nil {
			return nil, err
		}
	} else {
		other, slot := fields.find(f.AsManyAs)
		like, isRepeat := other.(repeat)
		switch {
		case !isRepeat:
			return nil, mistake.New(key+".as_many_as", "%q is not a repeat of this operation (or they wait for each other)", f.AsManyAs)
		case f.Min != "" || f.Max != "":
			return nil, mistake.New(key+".as_many_as", "give min and max, or as_many_as, not both")
		}
		r.as, r.max = slot, like.max
	}
	if r.width() > longestField {
		return nil, mistake.New(key, "can be %d bytes long; at most %d", r.width(), longestField)
	}
	return r, nil
}

func (r repeat) draw(v *values) int64 {
	var count int64
	if r.as >= 0 {
		count = v.numbers[r.as]
	} else {
		count = r.min + v.random.Int64N(r.max-r.min+1)
	}
	for i := range count {
		if i > 0 {
			v.text = append(v.text, r.separator...)
		}
		v.text = append(v.text, r.prefix...)
		r.of.draw(v)
		v.text = append(v.text, r.suffix...)
	}
	return count
}

func (r repeat) width() int {
	return int(r.max) * (len(r.separator) + len(r.prefix) + r.of.width() + len(r.suffix))
}
