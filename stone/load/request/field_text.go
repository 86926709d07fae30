package request

import (
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"loadstone.dev/stone/load/mistake"
)

const longestValue = 1 << 20 // the longest text, and the longest line of a file

var alphabets = map[string]string{
	"alnum":  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	"lower":  "abcdefghijklmnopqrstuvwxyz",
	"digits": "0123456789",
	"hex":    "0123456789abcdef",
	"words":  "abcdefghijklmnopqrstuvwxyz",
}

// text is random characters, from min to max of them.
type text struct {
	min, max int64
	alphabet string
	words    bool // with spaces between them
}

func compileText(f *Field, key string, _ *fieldSet) (drawer, error) {
	alphabet := f.Alphabet
	if alphabet == "" {
		alphabet = "alnum"
	}
	t := text{min: f.Length, max: f.Length, alphabet: alphabets[alphabet], words: alphabet == "words"}
	if t.alphabet == "" {
		return nil, mistake.New(key+".alphabet", "%q is not known; give alnum, lower, digits, hex or words", f.Alphabet)
	}
	switch {
	case f.Length != 0 && (f.Min != "" || f.Max != ""):
		return nil, mistake.New(key+".length", "give length, or min and max, not both")
	case f.Length < 0 || f.Length > longestValue:
		return nil, mistake.New(key+".length", "%d is out of range; give 1 to %d", f.Length, longestValue)
	case f.Length != 0:
		return t, nil
	}
	var err error
	t.min, t.max, err = fromTo(f, key, longestValue)
	return t, err
}

// fromTo reads whole min and max with 0 <= min <= max <= most.
func fromTo(f *Field, key string, most int64) (low, high int64, err error) {
	if low, err = wholeNumber(f.Min, key+".min", 0, most); err != nil {
		return 0, 0, err
	}
	if high, err = wholeNumber(f.Max, key+".max", 0, most); err != nil {
		return 0, 0, err
	}
	if high < low {
		return 0, 0, mistake.New(key+".max", "%d is less than min (%d)", high, low)
	}
	return low, high, nil
}

func wholeNumber(given json.Number, key string, low, high int64) (int64, error) {
	value, err := strconv.ParseInt(given.String(), 10, 64)
	if err != nil || value < low || value > high {
		return 0, mistake.New(key, "%q: give a whole number from %d to %d", given, low, high)
	}
	return value, nil
}

func (t text) draw(v *values) int64 {
	length := t.min + v.random.Int64N(t.max-t.min+1)
	if !t.words {
		v.text = appendLetters(v.text, t.alphabet, length, v.random)
		return length
	}
	for left := length; left > 0; left-- {
		word := min(2+v.random.Int64N(9), left)
		if left-word == 1 { // a space alone would be left
			word++
		}
		v.text = appendLetters(v.text, t.alphabet, word, v.random)
		if left -= word; left > 0 {
			v.text = append(v.text, ' ')
		}
	}
	return length
}

func (t text) width() int { return int(t.max) }

// appendLetters draws six letters from each 64 random bits, whose high end picks the first: of 62 letters none
// is more likely than another by more than 2^-28.
func appendLetters(to []byte, alphabet string, length int64, random *rand.Rand) []byte {
	for ; length > 0; length -= 6 {
		left := random.Uint64()
		for range min(length, 6) {
			place, rest := bits.Mul64(left, uint64(len(alphabet)))
			to, left = append(to, alphabet[place]), rest
		}
	}
	return to
}
