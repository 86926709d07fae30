package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hardware is what makes machines of one name differ: microcode, firmware, network interfaces and disks. Parts of which
// the kernel reports nothing are left out.
func (n *Node) hardware() map[string]string {
	found := map[string]string{
		"firmware":  joined(n.dmi("bios_vendor"), n.dmi("bios_version"), n.dmi("bios_date")),
		"microcode": n.microcode(),
		"nics":      n.devices("class/net", "driver", "speed", "Mbit/s"),
		"disks":     n.devices("block", "model", "size", "sectors"),
	}
	for part, value := range found {
		if value == "" {
			delete(found, part)
		}
	}
	return found
}

func (n *Node) microcode() string {
	for line := range strings.Lines(n.text("cpuinfo")) {
		if name, value, is := strings.Cut(line, ":"); is && strings.TrimSpace(name) == "microcode" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// devices are those of a class that are no kernel's inventions, each with its driver or model and a size, sorted.
func (n *Node) devices(class, what, size, unit string) string {
	entries, _ := os.ReadDir(filepath.Join(n.Sys, class)) // none where the kernel has no such class
	found := []string{}
	for _, entry := range entries {
		folder := filepath.Join(n.Sys, class, entry.Name())
		if _, err := os.Stat(filepath.Join(folder, "device")); err != nil {
			continue
		}
		name := readLine(filepath.Join(folder, "device", what))
		if driver, err := os.Readlink(filepath.Join(folder, "device/driver")); name == "" && err == nil {
			name = filepath.Base(driver)
		}
		if amount := readLine(filepath.Join(folder, size)); amount != "" && amount != "-1" {
			name = joined(name, amount, unit)
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

func readLine(file string) string {
	text, _ := os.ReadFile(file) // what cannot be read is not known
	return strings.TrimSpace(string(text))
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}
