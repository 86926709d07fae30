package tuning

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ranges are a lowest and a highest frequency in kHz in each of several folders, which have limits of their own.
type ranges struct {
	plain
	traits  traits
	bounds  func(Tuning) *Bounds
	folders string    // below the processors, as a pattern
	names   [2]string // files of the lowest and the highest frequency
	limits  [2]string // files of the limits that these may have
}

// frequency is that of the cores, by frequency policy.
var frequency = ranges{
	traits:  traits{key: "frequency", needs: "bounds of frequency (cpufreq/policy*/scaling_min_freq)"},
	bounds:  func(tuning Tuning) *Bounds { return tuning.Frequency },
	folders: "cpufreq/policy*",
	names:   [2]string{"scaling_min_freq", "scaling_max_freq"},
	limits:  [2]string{"cpuinfo_min_freq", "cpuinfo_max_freq"},
}

// uncore is that of caches and memory controllers, by package and die; the driver is Intel's.
var uncore = ranges{
	traits: traits{
		key:   "uncore",
		needs: "driver intel_uncore_frequency (on Intel's servers `modprobe intel_uncore_frequency` loads it)",
	},
	bounds:  func(tuning Tuning) *Bounds { return tuning.Uncore },
	folders: "intel_uncore_frequency/*",
	names:   [2]string{"min_freq_khz", "max_freq_khz"},
	limits:  [2]string{"initial_min_freq_khz", "initial_max_freq_khz"},
}

func (r ranges) about() traits { return r.traits }

func (r ranges) wants(tuning Tuning) bool { return r.bounds(tuning) != nil }

func (r ranges) files(h Host) ([]string, bool) {
	var files []string
	for _, folder := range numbered(h.cpu(r.folders)) {
		files = append(files, filepath.Join(folder, r.names[0]), filepath.Join(folder, r.names[1]))
	}
	return has(h.answering(files...))
}

func (r ranges) offers(h Host) string {
	var lows, highs []int
	for _, folder := range r.answering(h) {
		low, hasLow := h.number(filepath.Join(folder, r.limits[0]))
		high, hasHigh := h.number(filepath.Join(folder, r.limits[1]))
		if hasLow && hasHigh {
			lows, highs = append(lows, low), append(highs, high)
		}
	}
	if len(lows) == 0 {
		return "a range"
	}
	return fmt.Sprintf("%s to %s", formatFrequency(slices.Max(lows)), formatFrequency(slices.Min(highs)))
}

func (r ranges) values(h Host, tuning Tuning) ([]value, error) {
	var values []value
	bounds := r.bounds(tuning)
	for _, folder := range r.answering(h) {
		for i, hertz := range []int{bounds.Min, bounds.Max} {
			if hertz == 0 {
				continue
			}
			if err := r.check(h, folder, r.names[i], hertz/1000); err != nil {
				return nil, err
			}
			values = append(values, value{filepath.Join(folder, r.names[i]), strconv.Itoa(hertz / 1000)})
		}
	}
	return values, nil
}

// check refuses what is out of a folder's limits, or between two steps of a processor that has steps.
func (r ranges) check(h Host, folder, name string, kilohertz int) error {
	file := filepath.Join(folder, name)
	low, hasLow := h.number(filepath.Join(folder, r.limits[0]))
	high, hasHigh := h.number(filepath.Join(folder, r.limits[1]))
	if (hasLow && kilohertz < low) || (hasHigh && kilohertz > high) {
		return refused(fmt.Sprintf("choose between %s and %s", formatFrequency(low), formatFrequency(high)),
			"%s: %s is out of range", file, formatFrequency(kilohertz))
	}
	steps := append(h.choices(filepath.Join(folder, "scaling_available_frequencies")),
		h.choices(filepath.Join(folder, "scaling_boost_frequencies"))...)
	if len(steps) == 0 || slices.Contains(steps, strconv.Itoa(kilohertz)) {
		return nil
	}
	for i, step := range steps {
		number, _ := strconv.Atoi(step)
		steps[i] = formatFrequency(number)
	}
	return refused("choose one of: "+strings.Join(steps, ", "),
		"%s: %s is between two steps of this processor", file, formatFrequency(kilohertz))
}

// order has the highest first, so that it is never below the lowest; the other way round where all goes down.
func (r ranges) order(h Host, values []value) []value {
	var ordered []value
	for len(values) > 0 {
		folder := filepath.Dir(values[0].file)
		var low, high []value
		var others []value
		for _, v := range values {
			switch v.file {
			case filepath.Join(folder, r.names[0]):
				low = append(low, v)
			case filepath.Join(folder, r.names[1]):
				high = append(high, v)
			default:
				others = append(others, v)
			}
		}
		lowest, _ := h.number(filepath.Join(folder, r.names[0]))
		if highest := 0; len(high) > 0 {
			highest, _ = strconv.Atoi(high[0].text)
			if highest < lowest {
				low, high = high, low
			}
		}
		ordered = append(append(ordered, high...), low...)
		values = others
	}
	return ordered
}

// answering are the folders whose bounds can be read now.
func (r ranges) answering(h Host) []string {
	files, _ := r.files(h)
	folders := make([]string, len(files))
	for i, file := range files {
		folders[i] = filepath.Dir(file)
	}
	return slices.Compact(folders)
}

// formatFrequency writes a frequency as a user would write it: 2.2GHz.
func formatFrequency(kilohertz int) string {
	if kilohertz >= 1_000_000 {
		return strconv.FormatFloat(float64(kilohertz)/1e6, 'f', -1, 64) + "GHz"
	}
	return strconv.FormatFloat(float64(kilohertz)/1e3, 'f', -1, 64) + "MHz"
}
