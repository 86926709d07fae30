package request

import "loadstone.dev/stone/load/mistake"

import "strconv"

// sum is another field of whole numbers and a constant: the end of a range that begins there.
type sum struct {
	of  int // slot
	add int64
}

func compileSum(f *Field, key string, fields *fieldSet) (drawer, error) {
	other, slot := fields.find(f.Of)
	if !isWhole(other) {
		return nil, mistake.New(key+".of", "%q is not an integer, a sequence or a zipf with n of this operation (or they wait for each other)", f.Of)
	}
	add, err := wholeNumber(f.Add, key+".add", -sequenceStart, sequenceStart)
	if err != nil {
		return nil, err
	}
	return sum{slot, add}, nil
}

func (s sum) draw(v *values) int64 {
	value := v.numbers[s.of] + s.add
	v.text = strconv.AppendInt(v.text, value, 10)
	return value
}

func (s sum) width() int { return len("-9223372036854775808") }
