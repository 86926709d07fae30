package tuning

import (
	"path/filepath"
	"slices"
	"strings"
)

// governor is that of each frequency policy; with it changes the preference that drivers of Intel and AMD keep.
type governor struct{ plain }

func (governor) about() traits {
	return traits{key: "governor", needs: "governors of frequency (cpufreq/policy*/scaling_governor)"}
}

func (governor) wants(tuning Tuning) bool { return tuning.Governor != "" }

func (g governor) files(h Host) ([]string, bool) {
	// The kernel refuses the preference before its governor is back.
	return has(append(g.governors(h), h.answering(numbered(h.cpu("cpufreq/policy*/energy_performance_preference"))...)...))
}

func (g governor) offers(h Host) string {
	var common []string
	for i, file := range g.governors(h) {
		choices := h.choices(available(file))
		if i == 0 {
			common = choices
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(choices, name) })
	}
	return strings.Join(common, ", ")
}

func (g governor) values(h Host, tuning Tuning) ([]value, error) {
	for _, file := range g.governors(h) {
		if choices := h.choices(available(file)); !slices.Contains(choices, tuning.Governor) {
			return nil, refused("choose one of: "+strings.Join(choices, ", "), "%s: has no governor '%s'", file, tuning.Governor)
		}
	}
	return each(g.governors(h), tuning.Governor), nil
}

func (governor) governors(h Host) []string {
	return h.answering(numbered(h.cpu("cpufreq/policy*/scaling_governor"))...)
}

func available(governor string) string {
	return filepath.Join(filepath.Dir(governor), "scaling_available_governors")
}
