package node

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

func TestHardwareOfAServer(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		"proc/cpuinfo":                   "processor\t: 0\nmicrocode\t: 0xd0003a5\n\nprocessor\t: 1\nmicrocode\t: 0xd0003a5\n",
		"sys/class/dmi/id/bios_vendor":   "Maker\n",
		"sys/class/dmi/id/bios_version":  "1.4.2\n",
		"sys/class/net/eno1/speed":       "10000\n",
		"sys/class/net/eno2/speed":       "-1\n",
		"sys/class/net/br0/speed":        "10000\n",
		"sys/block/sda/device/model":     "SSD 870 \n",
		"sys/block/sda/size":             "1000215216\n",
		"sys/block/loop0/size":           "0\n",
		"sys/bus/pci/drivers/ice/module": "",
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"eno1", "eno2"} {
		device := filepath.Join(root, "sys/class/net", name, "device")
		if err := os.Mkdir(device, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../../../bus/pci/drivers/ice", filepath.Join(device, "driver")); err != nil {
			t.Fatal(err)
		}
	}
	found := (&Node{Options: Options{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}}).hardware()
	expected := map[string]string{
		"firmware":  "Maker 1.4.2",
		"microcode": "0xd0003a5",
		"nics":      "ice, ice 10000 Mbit/s",
		"disks":     "SSD 870 1000215216 sectors",
	}
	if !maps.Equal(found, expected) {
		t.Errorf("%v, expected %v", found, expected)
	}
	if bare := (&Node{Options: Options{Proc: root, Sys: root}}).hardware(); len(bare) != 0 {
		t.Errorf("%v of a kernel that reports nothing", bare)
	}
}
