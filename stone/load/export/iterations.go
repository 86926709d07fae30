package export

import (
	"cmp"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Iteration is a row of iterations.parquet: loadstone/model/records/iteration.py says what its columns mean.
type Iteration struct {
	Client    int32    `parquet:"client"`
	Iteration int32    `parquet:"iteration"`
	StartS    float64  `parquet:"start_s"`
	DurationS float64  `parquet:"duration_s"`
	Requests  int64    `parquet:"requests"`
	Errors    int64    `parquet:"errors"`
	MeanMs    *float64 `parquet:"mean_ms,optional"`
}

// Iterations writes iterations.parquet, sorted by client and iteration; it appears under its name when it is complete.
func Iterations(path string, rows []Iteration) error {
	slices.SortFunc(rows, func(a, b Iteration) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Iteration, b.Iteration))
	})
	if err := parquet.WriteFile(path+".part", rows); err != nil {
		_ = os.Remove(path + ".part")
		return err
	}
	return os.Rename(path+".part", path)
}
