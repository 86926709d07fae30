package main

import (
	"encoding/json"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/tasks"
)

func TestLinpackCommand(t *testing.T) {
	code, printed, complaint := runVerb(t, "linpack", "--order", "30")
	var got tasks.Calibration
	if err := json.Unmarshal([]byte(printed), &got); err != nil || code != 0 || got.Order != 30 || got.Samples != 51 {
		t.Error(code, printed, complaint, err)
	}
	for _, wrong := range []string{"", "--order 30 --target 1ms", "--order 20000", "--target 2m", "--order 30 more", "--size 3"} {
		if code, _, complaint := runVerb(t, "linpack", strings.Fields(wrong)...); code != 2 || complaint == "" {
			t.Errorf("%q: %d %q", wrong, code, complaint)
		}
	}
}
