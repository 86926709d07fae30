package percentile

import (
	"math"
	"math/big"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"testing/quick"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// percents are those that people ask for, as decimals: rank() takes them exactly.
var percents = []string{"0", "0.001", "1", "2.5", "33.3", "50", "58", "75", "90", "95", "97", "99", "99.9", "99.99", "99.999", "100"}

func parse(text string) (exact *big.Rat, q float64) {
	exact, _ = new(big.Rat).SetString(text)
	q, _ = exact.Float64()
	return exact, q
}

// rank by the definition, in exact arithmetic: the smallest k >= 1 with 100 k >= q count.
func rank(exact *big.Rat, count int64) int64 {
	product := new(big.Rat).Mul(exact, big.NewRat(count, 100))
	up := new(big.Int).Add(product.Num(), new(big.Int).Sub(product.Denom(), big.NewInt(1)))
	return max(up.Div(up, product.Denom()).Int64(), 1)
}

func TestRankIsExact(t *testing.T) {
	for _, text := range percents {
		exact, q := parse(text)
		if err := quick.Check(func(any uint32, shift uint8) bool {
			count := int64(any>>(shift%32)) + 1
			return Rank(q, count) == rank(exact, count)
		}, &quick.Config{MaxCount: 2000}); err != nil {
			t.Errorf("%s %%: %v", text, err)
		}
	}
	if Rank(99, 983) != 974 || Rank(99.9, 1000) != 999 || Rank(100, 7) != 7 || Rank(0, 7) != 1 || Rank(50, 0) != 0 {
		t.Error(Rank(99, 983), Rank(99.9, 1000), Rank(100, 7), Rank(0, 7), Rank(50, 0))
	}
}

// values are of 1 to 3,000 requests, from 1 us to hours, as a load generator records them.
type values []int64

func (values) Generate(random *rand.Rand, _ int) reflect.Value {
	list := make(values, 1+random.Intn(1+random.Intn(3000)))
	for i := range list {
		list[i] = int64(1e3 * math.Exp(22*random.Float64()*random.Float64()))
	}
	return reflect.ValueOf(list)
}

func TestPercentilesAreThoseOfTheSortedValues(t *testing.T) {
	if err := quick.Check(func(list values) bool {
		h := hdr.New(1000, 7200e9, 3)
		for _, value := range list {
			if err := h.RecordValue(value); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(list)
		for _, text := range percents {
			exact, q := parse(text)
			want, got := list[rank(exact, int64(len(list)))-1], Of(h, q)
			if got < want || !h.ValuesAreEquivalent(got, want) {
				t.Errorf("P%s of %d values: %d, sorted: %d", text, len(list), got, want)
				return false
			}
		}
		return true
	}, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

func TestNothingRecorded(t *testing.T) {
	if got := OfEach(hdr.New(1000, 7200e9, 3), 0, 50, 100); !slices.Equal(got, []int64{0, 0, 0}) {
		t.Error(got)
	}
}
