package tuning

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// swap is the devices and files in /proc/swaps. Each has a name below that file which only says which one is meant.
// Its values: "on 5" with an explicit priority, "on" with one of the kernel's (negative), "off".
type swap struct{}

func (swap) about() traits {
	return traits{key: "swap", needs: "swap in its kernel (/proc/swaps)"}
}

func (swap) wants(tuning Tuning) bool { return tuning.Swap != "" }

func (s swap) files(h Host) ([]string, bool) {
	var files []string
	for _, used := range s.inUse(h) {
		files = append(files, filepath.Join(s.table(h), used.file))
	}
	_, there := h.read(s.table(h))
	return files, there
}

func (swap) offers(Host) string { return "on, off" }

func (s swap) values(h Host, tuning Tuning) ([]value, error) {
	files, _ := s.files(h)
	if tuning.Swap == "on" && len(files) == 0 {
		return nil, refused("turn some on (swapon), or leave tuning.swap out", "%s: no swap is on", s.table(h))
	}
	values := each(files, "off")
	for i, file := range files {
		if tuning.Swap == "on" {
			values[i].text, _ = s.read(h, file)
		}
	}
	return values, nil
}

func (swap) order(_ Host, values []value) []value { return values }

func (s swap) read(h Host, file string) (string, bool) {
	for _, used := range s.inUse(h) {
		if used.file == s.device(h, file) {
			return used.text, true
		}
	}
	return "off", true
}

func (s swap) write(h Host, file, text string) error {
	state, given, _ := strings.Cut(text, " ")
	priority := -1
	if given != "" {
		var err error
		if priority, err = strconv.Atoi(given); err != nil {
			return err
		}
	}
	return h.kernel.swap(s.device(h, file), state == "on", priority)
}

func (swap) writable(h Host, _ string) bool { return h.kernel.root() }

var octal = regexp.MustCompile(`\\[0-7]{3}`)

// inUse is each device with its state. The kernel writes a space in a name as \040.
func (s swap) inUse(h Host) []value {
	table, _ := h.read(s.table(h))
	var found []value
	for _, line := range strings.Split(table, "\n")[1:] {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		device := octal.ReplaceAllStringFunc(fields[0], func(escaped string) string {
			character, _ := strconv.ParseUint(escaped[1:], 8, 8)
			return string([]byte{byte(character)})
		})
		state := "on"
		if priority, err := strconv.Atoi(fields[4]); err == nil && priority >= 0 {
			state += " " + fields[4]
		}
		found = append(found, value{device, state})
	}
	return found
}

func (s swap) device(h Host, file string) string { return strings.TrimPrefix(file, s.table(h)) }

func (swap) table(h Host) string { return filepath.Join(h.Proc, "swaps") }
