package social

import (
	"testing"

	"loadstone.dev/stone/platform/accounts"
)

var costOutsideTests = hashCost

func init() { hashCost = accounts.SeedCost }

func TestAHashIsNotCheapOutsideTests(t *testing.T) {
	if costOutsideTests != accounts.Cost {
		t.Errorf("cost %d", costOutsideTests)
	}
}
