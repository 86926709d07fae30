package tuning

import (
	"slices"
	"strconv"
	"strings"
)

// parseCores reads a list as the kernel writes it, "0-2,5"; what is no number is left out.
func parseCores(text string) []int {
	var cores []int
	for _, part := range strings.Split(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		to := from
		if ranged {
			if to, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		for core := from; core <= to; core++ {
			cores = append(cores, core)
		}
	}
	return cores
}

// formatCores writes a list in the kernel's form.
func formatCores(cores []int) string {
	cores = slices.Compact(slices.Sorted(slices.Values(cores)))
	var parts []string
	for start := 0; start < len(cores); {
		end := start
		for end+1 < len(cores) && cores[end+1] == cores[end]+1 {
			end++
		}
		part := strconv.Itoa(cores[start])
		if end > start {
			part += "-" + strconv.Itoa(cores[end])
		}
		parts = append(parts, part)
		start = end + 1
	}
	return strings.Join(parts, ",")
}
