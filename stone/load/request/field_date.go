package request

import (
	"math"
	"time"

	"loadstone.dev/stone/load/mistake"
)

// date is a day in [first, last], day numbers since 1970; with `after`, first counts from that field's day
// and maxDays (if not negative) bounds it from there too.
type date struct {
	first, last int
	after       int // slot of the earlier date field, -1 for none
	maxDays     int
	latest      int // the last day that it can be, for the fields that come after it
}

func compileDate(f *Field, key string, fields *fieldSet) (drawer, error) {
	d := date{after: -1, first: 1, maxDays: -1, last: math.MaxInt32}
	var err error
	if f.To != "" {
		if d.last, err = day(f.To, key+".to"); err != nil {
			return nil, err
		}
	}
	if f.After == "" {
		if f.MinDays != nil || f.MaxDays != nil || f.To == "" {
			return nil, mistake.New(key, "give from and to; min_days and max_days go with after")
		}
		if d.first, err = day(f.From, key+".from"); err == nil && d.last < d.first {
			err = mistake.New(key+".to", "%s is before from (%s)", f.To, f.From)
		}
		d.latest = d.last
		return d, err
	}
	before, slot := fields.find(f.After)
	earlier, isDate := before.(date)
	switch {
	case !isDate:
		return nil, mistake.New(key+".after", "%q is not a date field of this operation (or they wait for each other)", f.After)
	case f.From != "":
		return nil, mistake.New(key+".from", "give from or after, not both")
	case f.To == "" && f.MaxDays == nil:
		return nil, mistake.New(key, "give to or max_days: the last day there is")
	}
	d.after = slot
	if f.MinDays != nil {
		d.first = *f.MinDays
	}
	if f.MaxDays != nil {
		d.maxDays = *f.MaxDays
	}
	if d.first < 0 || f.MaxDays != nil && d.maxDays < d.first {
		return nil, mistake.New(key+".min_days", "min_days %d, max_days %d: want 0 <= min_days <= max_days", d.first, d.maxDays)
	}
	if earlier.latest+d.first > d.last {
		return nil, mistake.New(key+".to", "%s is less than %d days after the latest %s", f.To, d.first, f.After)
	}
	if d.latest = d.last; d.maxDays >= 0 {
		d.latest = min(d.last, earlier.latest+d.maxDays)
	}
	return d, nil
}

func day(text, key string) (int, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, mistake.New(key, "%q is not a date; give YYYY-MM-DD", text)
	}
	return int(t.Unix() / 86400), nil
}

func (d date) draw(v *values) int64 {
	first, last := d.first, d.last
	if d.after >= 0 {
		earlier := int(v.numbers[d.after])
		if first += earlier; d.maxDays >= 0 {
			last = min(last, earlier+d.maxDays)
		}
	}
	chosen := first + v.random.IntN(last-first+1)
	v.text = time.Unix(int64(chosen)*86400, 0).UTC().AppendFormat(v.text, time.DateOnly)
	return int64(chosen)
}

func (d date) width() int { return len(time.DateOnly) }
